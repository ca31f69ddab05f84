"""The papers reproduced, and leagues of policies."""
