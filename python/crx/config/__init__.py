"""Settings: what there is, which value is in effect, and where it comes from."""

from crx.config._agreement import (
    FIXED,
    describe_other_defaults,
    fixed_settings,
    settings_asked_for,
    settings_of_index,
)
from crx.config._allowed import allow, allow_copy, forbid, require_allowed
from crx.config._resolve import ConfigWarning, Resolved, resolve
from crx.config._toml_table import PROJECT_FILE
from crx.config._trust import revoke, trust, untrusted_names, write
from crx.config.files import (
    PROMPTS,
    SettingsFile,
    leads_out,
    project_file,
    read_settings,
    replace_bytes,
    replace_text,
    require_inside,
    user_file,
)
from crx.config.settings import (
    ARGUMENT,
    ENVIRONMENT,
    Description,
    Scope,
    Settings,
    Value,
    Variable,
    describe,
    is_offline,
    parse,
    refuse_offline,
    setting_values,
)

__all__ = [
    "ARGUMENT",
    "ENVIRONMENT",
    "FIXED",
    "PROJECT_FILE",
    "PROMPTS",
    "ConfigWarning",
    "Description",
    "Resolved",
    "Scope",
    "Settings",
    "SettingsFile",
    "Value",
    "Variable",
    "allow",
    "allow_copy",
    "describe",
    "describe_other_defaults",
    "fixed_settings",
    "forbid",
    "is_offline",
    "leads_out",
    "parse",
    "project_file",
    "read_settings",
    "refuse_offline",
    "replace_bytes",
    "replace_text",
    "require_allowed",
    "require_inside",
    "resolve",
    "revoke",
    "setting_values",
    "settings_asked_for",
    "settings_of_index",
    "trust",
    "untrusted_names",
    "user_file",
    "write",
]
