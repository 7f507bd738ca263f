"""What went wrong, in English: settings, models, storage, input."""

from __future__ import annotations

FAILURES = {
    # -- errors in general
    "error.unknown": "Something went wrong ({key}). The log folder has the details in errors.log.",
    "error.unexpected": "Something went wrong that should not ({kind}). Nothing stored is lost; the details are in {log}.",
    "error.unstarted": "Old Friend cannot start: {kind}. Look at the folder it is started in, and at its settings.",
    "error.key_hint": " {key} from the {source}",
    "error.nearest_hint": " It has {names}.",
    "interrupted": "Stopped. Nothing was stored; what you typed is kept.",
    "usage.wrong": "That command line cannot be understood: {reason}. See --help.",
    "usage.unknown": "There is no such flag: {given}. --help lists them.",
    "usage.bare": 'To say one thing and end: main.py -p "{given}". To chat: main.py alone.',
    "usage.needs_value": "{given} needs something behind it. See --help.",
    "usage.no_value": "{given} takes nothing behind it. See --help.",
    "usage.here_needs_p": "--here goes with -p: give something to say.",
    "usage.json_needs_p": "--json goes with -p: give something to say.",
    "usage.one_of_p_batch": "-p, --ask and --batch do not go together. Give one of them.",
    # -- settings
    "settings.tokens": "{name}={value}: must be a whole number; 0 sets no limit.",
    "settings.wrong": "A setting is wrong. See .env.example.",
    "settings.env_missing": "There is no file {path}. Make it, or leave out --env-file.",
    "settings.env_line": "Line {line} of {path} cannot be read, so it sets nothing. It should look like NAME=value.",
    "settings.env_unreadable": "{path} cannot be read ({reason}). Make it readable text in UTF-8.",
    "settings.no_line_break": "{name}={value}: must be one line.",
    "settings.key_without_spaces": "{name}={value}: a key has no spaces, line breaks or special letters. Paste it again.",
    "settings.url": "{name}={value}: must be a URL like https://api.openai.com/v1.",
    "settings.whole_number": "{name}={value}: must be a whole number from 1 to 100000.",
    "settings.hours": "{name}={value}: must be hours, 0 (never) to 100000.",
    "settings.seconds": "{name}={value}: must be seconds, above 0 and at most 86400.",
    "settings.few": "{name}={value}: must be a whole number from 0 to 9.",
    "settings.most": "{name}={value}: must be a whole number; 0 is no limit.",
    "settings.percentage": "{name}={value}: must be a whole number from 1 to 100.",
    "settings.forget_mode": "{name}={value}: must be fade or delete.",
    "settings.external": "{name}={value}: must be name=path, with commas between, each name once.",
    "settings.planning": "{name}={value}: must be off, auto or always.",
    "settings.group": "{name}={value}: must be a whole number from 2 to 100.",
    "settings.switch": "{name}={value}: must be 1 or 0.",
    "settings.language": "{name}={value}: must be auto, en or zh.",
    "settings.folder": "{name}={value}: must be the name of a folder.",
    "settings.refresh_above_max": "{name}={value}: must not be above MAX_CONV_NUM, which is {most}.",
    "settings.model_needed": "{name} is empty: {base} needs the name of a model. Write it there; {base}/models lists them.",
    "settings.misspelt": "{name} is no setting. Did you mean {nearest}?",
    "settings.env_readable": "{path} holds your key and others on this computer can read it. Run: chmod 600 {path}",
    "settings.key_from_elsewhere": (
        "The key comes from the {key_source}, the base URL {base} from the {base_source}. "
        "If that key is not meant for that server, put both in one place."
    ),
    # -- models
    "model": "The model did not answer ({said}). Try again, or look at /status.",
    "model.failed": "The model did not answer. Try again, or look at /status.",
    "model.unreachable": "No connection to {base}. Check that the server runs, the base URL and the network.",
    "model.no_such_host": "There is no server with the name in {base}. Check OPENAI_API_BASE and the network.",
    "model.connection_lost": "The connection to {base} broke off before the reply was whole. Try again with /retry.",
    "model.insecure": "{base} has no certificate that can be trusted ({said}). Check the base URL; nothing was sent.",
    "model.timed_out": "The model server at {base} did not answer in time. Wait and try again, or raise REQUEST_TIMEOUT.",
    "model.rate_limited": "{base} takes no more requests just now (429). Wait a moment and try again.",
    "model.quota": "The account at {base} has no credit left. Look at its billing page; waiting does not help.",
    "model.server_fault": "The model server at {base} has a fault ({status}). Wait and try again.",
    "model.unauthorized": "{base} does not take the key{key_hint}. Check OPENAI_API_KEY, or run /setup.",
    "model.forbidden": "The key{key_hint} is not allowed to use {model} at {base}. Check the account, or choose another model.",
    "model.not_found": "{base} has no model {model}.{nearest_hint} Check CHAT_MODEL, or run /setup.",
    "model.no_such_model": "{base} has no model {model}.{nearest_hint} Check CHAT_MODEL, or run /setup.",
    "model.no_such_path": "{base} knows no such address. The base URL may lack /v1; check OPENAI_API_BASE.",
    "model.redirected": "{base} sends on to {location}. The key was not sent there; put the right address in OPENAI_API_BASE.",
    "model.context_too_long": "The conversation does not fit into {model}. Use /save to begin a new session, or a smaller MAX_CONV_NUM.",
    "model.too_large": "The prompt or the reply is too large to be sent whole. Say it in smaller parts.",
    "model.content_filtered": "The provider's filter refused this. Say it differently; /memory recall off leaves old memories out.",
    "model.bad_request": "{base} refused the request: {said}. Check the model and the base URL.",
    "model.bad_reply": "What came from {base} is not a reply. The base URL may lack /v1; check OPENAI_API_BASE.",
    "model.html_reply": "{base} sent a web page, not a reply. The base URL may lack /v1; check OPENAI_API_BASE.",
    "model.empty_reply": "{base} sent an empty reply. Try again; if it stays so, the base URL may lack /v1.",
    "model.only_thinking": "{base} sent only thinking and no reply. Try again; its limit of tokens may be too low.",
    "model.no_reply": "{base} sent no reply. Try again; if it stays so, the base URL may lack /v1.",
    "model.no_json": "The model did not answer in the form that it was asked for.",
    "model.malformed_reply": "What came from {base} cannot be read as a reply. Try again; look at the base URL.",
    "model.cut_reply": "The reply from {base} broke off before its end. Try again with /retry.",
    "model.error_in_reply": "{base} reported an error: {said}. Try again, or look at /status.",
    "embedding.fell_back": "The embedder that knows meaning cannot be loaded ({reason}). Recall goes on by words and the built-in one.",
    "embedding.failed": "No vectors from the embedding model now. Recall goes on by words; they are made later.",
    "embedding": "The embedding model gave nothing that can be used now. Recall goes on by words; vectors are made later.",
    # -- storage
    "storage.failed": "The data folder cannot be used ({reason}). Look at its disk and permissions.",
    "storage.waiting": "Waiting for another Old Friend (process {pid}) that uses the memory …",
    "storage.in_use": "Another Old Friend (process {pid} on {host}, since {since}) uses {path}. Close it, or choose another --data-dir.",
    "storage.damaged": (
        "The database {path} is damaged ({reason}). It was left as it is. Copy it aside, then put a backup in its place."
    ),
    "storage.differs": (
        "The database {path} holds texts that are not what was stored ({count}: {what}). It was left as it is. "
        "Compare these rows with a backup, or put a backup in its place (--restore)."
    ),
    "storage.misshapen": (
        "The database {path} cannot be used: {what} is missing or of another form. It was left as it is. "
        "Copy it aside, then put a backup in its place."
    ),
    "storage.added": (
        "The database {path} cannot be used: somebody added {what} to it. It was left as it is. "
        "Copy it aside, then put a backup in its place."
    ),
    "storage.unreadable": (
        "The database {path} cannot be used: a value in {what} is not what belongs there. It was left as it is. "
        "Mend the value, or put a backup in its place."
    ),
    "backup.done": "The whole memory is in {path} ({size}). Keep it where only you can read it.",
    "backup.restored": "The memory is that of {path} again.",
    "backup.restored_over": "The memory is that of {path} again. What was there before is kept as {former}.",
    "backup.exists": "{path} exists and is not overwritten. Choose another name.",
    "backup.nothing": "There is no memory in {path} to back up.",
    "backup.no_folder": "There is no folder {path}. Make it, or choose another place.",
    "backup.missing": "There is no backup at {path}.",
    "backup.not_one": "{path} is no backup of Old Friend. Nothing was changed; give a file that --backup made.",
    "backup.damaged": "The backup {path} is damaged ({reason}). Nothing was changed; try another backup.",
    "storage.not_ours": "{path} is not a database of Old Friend. It was left as it is; choose another --data-dir.",
    "storage.newer_schema": "The database was written by a newer Old Friend. Use that one; nothing was touched.",
    "storage.disk_full": "The disk is full. The last write was taken back whole. Make room, then say it again.",
    "storage.read_only": "The data folder may not be written ({path}). Make it writable, or choose another --data-dir.",
    # -- input
    "chat.prompt_needed": "A completion needs a prompt: a text, or a list of texts.",
    "chat.input_needed": "A response needs an input: a text, or a list of items.",
    "chat.not_served": "This server does not serve {given}.",
    "chat.no_such_response": "There is no response {given} to go on after.",
    "chat.messages_needed": "A chat request needs messages: a list of them, each with a role and its content.",
    "input.empty": "There is nothing to send.",
    "input.too_long": "That is more than {most} bytes. Send it in smaller parts.",
}
