"""Realistic environments blank out no ordinary text, real keys stay out, and a journal keeps its names."""

from __future__ import annotations

import random
import re
import string
from base64 import b32encode, b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from conftest import Run
from core.folding import many
from corpus import for_each
from debates import opened_event
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import CallFailed, Event, QuestionAsked, Spoke, StructuredReplyGiven
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.values import FREE_TEXT, FrozenModel
from debate_orchestrator.providers.casting import cast_problems
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.redact import redact, secrets

ENVIRONMENTS = {
    "names": {
        "SECRET_NAME": "prod-db-main", "TOKENIZER_MODEL": "claude-opus-5", "KEYMAP": "us-latin1",
        "AUTH_DOMAIN": "example.com", "AWS_SECRET_REGION": "eu-west-1", "APP_KEY": "1.opening.a",
        "KEYBOARD_LAYOUT": "de-nodeadkeys", "KEYCLOAK_REALM": "master-realm-1", "COOKIE_DOMAIN": ".app.example.com",
        "TOKEN_FILE": "notes/tokens-2026.txt", "KEY_DATE": "2026-01-02", "SECRET_PATH": "kv/data/prod-db",
        "CREDENTIALS_ID": "deploy-bot-2", "PASSWORD_POLICY": "min-12-chars", "MAX_TOKENS": "100000000",
        "PARTITION_KEY": "customer-region-eu-west-1", "SORT_KEY": "created_at_2026_01_02", "HOTKEY": "ctrl-shift-p",
        "MONKEY": "george-the-3rd", "S3_KEY": "reports/2026/01/summary-v2.html", "TURKEY": "thanksgiving-2026",
        "PWD": "/home/me/my-project-2", "OLDPWD": "/srv/app-1", "DB_PASSWORD": "postgres-1", "A_SECRET": "strategy",
        "JWT_AUTH": "required-always-2", "A_TOKEN": "DefaultAzureCredential", "B_KEY": "correcthorsebatterystaple",
        "FALLBACK_KEY": "anthropic.claude-3-5-sonnet-20240620-v1:0", "C_KEY": "Meta-Llama-3.1-70B-Instruct-Q4_K_M",
        "HOST_KEY": "ip-10-0-12-34.eu-west-1.compute.internal", "D_KEY": "20260102T101112Z",
        "E_KEY": "node12rack07row3", "F_KEY": "prod01-node12-rack07-host33", "G_KEY": "MyVeryLongPascalCaseName",
        "H_KEY": "npm_config_registry", "I_KEY": "pypi-publish-release-candidates-for-everybody-2026",
        "J_KEY": "xai-grok-4-fast-reasoning", "K_KEY": "npm_package_name", "L_TOKEN": "sk_live_mode",
        "M_KEY": "npm_authenticationsettings",
    },
    "github": {
        "GITHUB_REPOSITORY": "me/my-project", "GITHUB_REF": "refs/heads/feature/ABC-1234-fix",
        "GITHUB_RUN_ID": "9876543210",
        "GITHUB_SHA": "0d5c3bd7f1e2a3b4c5d6e7f8091a2b3c4d5e6f70", "RUNNER_NAME": "GitHub Actions 12",
        "ACTIONS_ID_TOKEN_REQUEST_URL": "https://token.actions.example/v1?x=1", "CACHE_KEY": "linux-node-20-npm-v3",
        "RESTORE_KEYS": "linux-node-20-\nlinux-node-", "SONAR_PROJECT_KEY": "my-org_my-project",
    },
    "gitlab": {
        "CI_REGISTRY_USER": "gitlab-ci-token", "CI_JOB_TOKEN_SCOPE_ENABLED": "true-by-default",
        "CI_COMMIT_REF_SLUG": "feature-abc-1234", "CI_REPOSITORY_URL": "https://gitlab-ci-user@gitlab.example/me/x.git",
    },
    "aws": {
        "AWS_DEFAULT_REGION": "eu-central-1", "AWS_PROFILE": "work-profile-2", "AWS_ROLE_SESSION_NAME": "deploy-2026",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
        "SECRET_ARN": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod-db",
        "KMS_KEY": "alias/prod-main-key-1",
        "AWS_KMS_KEY": "arn:aws:kms:eu-west-1:123456789012:alias/prod-main",
    },
    "kubernetes": {
        "HOSTNAME": "web-7d9f8b6c5d-x2x4z", "KUBERNETES_SERVICE_HOST": "10.96.0.1", "POD_KEY": "web-7d9f8b6c5d-x2x4z",
        "SECRET_STORE": "vault-prod-1", "TLS_SECRET": "wildcard-example-com-tls", "PULL_SECRET": "registry-pull-2",
        "SERVICE_KEY": "kubernetes.default.svc.cluster.local",
    },
    "npm": {
        "npm_config_registry": "https://packages.example.org/", "npm_package_name": "my-package-1",
        "npm_config_user_agent": "npm/10.2.4 node/v20.11.0 linux x64", "NPM_TOKEN": "${NPM_TOKEN_FROM_CI}",
        "npm_config_keyfile": "certs/client-1.pem", "NODE_AUTH_TOKEN": "XXXXX-XXXXX-XXXXX-XXXXX",
    },
    "values": {
        "A_KEY": "sk-average", "B_KEY": "hf_transfer_enabled", "C_TOKEN": "eyJafjallajokull", "D_KEY": "sk-learn-1.5",
        "E_KEY": "xoxb-enabled", "F_TOKEN": "glpat-rotation-days-30", "G_KEY": "sk-very-secret",
        "H_KEY": "AKIAnswers", "I_KEY": "gsk_model_v2", "J_KEY": "hf_TransferEnabled",
        "LOCALE_KEY": "en_US.UTF-8@euro-2026",
        "K_TOKEN": "America/Argentina/Buenos_Aires", "L_KEY": "1.24.3-rc.1+build.20260102",
        "L_TOKEN": "1.4.2-rc1+Build5.20240501", "M_TOKEN": "3.11.4-1+Debian12~bpo1",
        "N_TOKEN": "Chrome/120.0.0+Safari5",
        "M_KEY": "v1.2.3-4-g0d5c3bd7f",
        "N_KEY": "v0.0.0-20260102101112-0d5c3bd7f1e2", "O_KEY": "2026-01-02T10:11:12.123Z",
        "P_KEY": "aes-256-gcm-hkdf-sha256",
        "Q_KEY": "x86_64-unknown-linux-gnu", "R_KEY": "ecdsa-sha2-nistp256", "S_KEY": "gpt-4o-mini-2024-07-18",
        "T_KEY": "mistralai/Mixtral-8x22B-Instruct-v0.1", "U_KEY": "qwen2.5-coder-32b-instruct-q4_k_m.gguf",
        "V_KEY": "C:\\Users\\Me\\AppData\\Roaming\\key.pem", "W_KEY": "/home/me/.ssh/id_ed25519_2026",
        "X_KEY": "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/key.pem", "Y_KEY": "https://login.example/oauth2/v2.0",
        "Z_KEY": "backup-20260102t101112z", "A_PASSWORD": "ask-me-at-the-meeting", "B_PASSWORD": "HTTPServerPassword2",
        "A_SECRET": "projects/my-project-123456/secrets/db/versions/12", "B_SECRET": "1234567890123456",
        "C_SECRET": "deploy-bot@my-project-123456.iam.gserviceaccount.com", "D_SECRET": "application/vnd.api+json",
    },
    "symbols": {
        "A_KEY": "index.php?id=1&x=2&session=none", "B_KEY": "name=value&other=2&third=4&q=a+b",
        "C_TOKEN": "^(?:main|release-[0-9]+)$", "D_KEY": "1:2.4.41-4ubuntu3.14~20.04.1+esm1",
        "E_KEY": "%(asctime)s:%(levelname)8s:%(message)s", "F_KEY": "CN=Debate,OU=Engineering,O=Example,C=DE",
        "G_TOKEN": "${VAR:-default}/path-to-something", "H_KEY": "me+tag2@example-company.org",
        "I_KEY": "key1=val1&key2=val2+more~x", "J_KEY": "application/json;q=0.9,*/*;q=0.8",
    },
    "addresses": {
        "DATABASE_URL": "postgres://readonly_user@db-1.example/app",
        "REDIS_URL": "redis://default:password@cache-1:6379",
        "GIT_REMOTE": "ssh://deploy-user-1@git.example/x", "ANTHROPIC_CUSTOM_HEADERS": "x-team-name: research",
    },
}  # fmt: skip


def drawn(alphabet: str, size: int, prefix: str = "") -> str:
    """A key of so many characters, the same in every run."""
    return prefix + "".join(random.Random(f"{alphabet}{size}{prefix}").choices(alphabet, k=size))


BASE62, LOWER = string.ascii_letters + string.digits, string.ascii_lowercase + string.digits
BYTES = random.Random(7).randbytes(32)
KEYS = {
    "Anthropic": drawn(BASE62 + "-_", 95, "sk-ant-api03-"),
    "OpenAI": drawn(BASE62, 48, "sk-proj-"),
    "GitHub": drawn(BASE62, 36, "ghp_"), "GitHub OAuth": drawn(BASE62, 36, "gho_"),
    "Slack's app": "xapp-1-A0B1C2D3E4F-1234567890123-" + BYTES.hex(),
    "GitHub, fine-grained": drawn(BASE62 + "_", 82, "github_pat_"), "Slack": "xoxb-" + drawn(string.digits, 24),
    "AWS id": drawn(string.ascii_uppercase, 16, "AKIA"), "AWS": drawn(BASE62 + "/+", 40),
    "Google": drawn(BASE62, 35, "AIza"),
    "GitLab": drawn(BASE62, 20, "glpat-"), "Hugging Face": drawn(string.ascii_letters, 34, "hf_"),
    "Stripe": drawn(BASE62, 24, "sk_live_"), "Stripe, few digits": "sk_live_CapgNYKNYLRG70DbkOwdfyIM",
    "npm, few digits": "npm_kthnsJkxdaSjexpdPZNWXOXpHiuSFxpEJMI8", "Groq": drawn(BASE62, 52, "gsk_"),
    "xAI": drawn(BASE62, 80, "xai-"),
    "PyPI": "pypi-dXCUgWUTIZFz_gdNf-2V8q80U_8tuzofy_-TE_mK3E7ok-gNt7Gj-QU049GH",
    "npm": drawn(BASE62, 36, "npm_"), "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "hex": BYTES.hex(),
    "MD5": BYTES[:16].hex().upper(), "UUID": "7f1e2a3b-4c5d-4e7f-8091-a2b3c4d5e6f7",
    "base64": b64encode(BYTES).decode(),
    "base64url": urlsafe_b64encode(BYTES).decode().rstrip("="), "base36": drawn(LOWER, 40),
    "base36, short": "w7kq02mzx9fbt4hc1vny", "base32": "JBSWY3DPEHPK3PXP",
    "base32 of 20 bytes": b32encode(BYTES[:20]).decode(),
    "letters and digits": drawn(BASE62, 20), "letters": drawn(string.ascii_letters, 32),
    "DeepL": "7f1e2a3b-4c5d-4e7f-8091-a2b3c4d5e6f7:fx",
    "Mailgun": f"key-{BYTES[:16].hex()}", "DigitalOcean": f"dop_v1_{BYTES.hex()}",
    "Replicate": drawn(BASE62, 37, "r8_"),
    "SendGrid": f"SG.{drawn(BASE62 + '-_', 22)}.{drawn(BASE62 + '-_', 43)}", "Perplexity": drawn(BASE62, 48, "pplx-"),
    "age": f"AGE-SECRET-KEY-1{drawn('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}",
    "password": "vT4!kq9#Zp2&mX7w",
    "PEM": f"-----BEGIN PRIVATE KEY-----\n{b64encode(BYTES * 2).decode()}\n-----END PRIVATE KEY-----",
}  # fmt: skip


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_ordinary_text_changes(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a realistic environment no value that is no secret, nor a part of it, is taken out of a sentence."""
    variables = ENVIRONMENTS[environment]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for value in variables.values():
        for text in {value, *value.split(), *value.split("@"), *value.split("://")}:
            sentence = f"Should {text} move to Postgres?"
            assert redact(sentence) == sentence


@many
@given(
    st.sampled_from(["A_KEY", "A_TOKEN", "DB_PASSWORD", "CLIENT_SECRET"]),
    st.lists(
        st.sampled_from(["prod", "main", "eu", "west", "claude", "opus", "database", "web", "2026", "5", "v1", "West"]),
        min_size=1, max_size=9,
    ),
    st.sampled_from(["-", ".", "/", "_", ":", " ", ", "]),
)  # fmt: skip
def test_names_are_no_secrets(name: str, parts: list[str], between: str) -> None:
    """What is put together from words and numbers, as names of hosts, models, regions and files are, is no secret."""
    assert list(secrets(name, between.join(parts))) == []


@pytest.mark.parametrize(
    "name", ["APP_KEY", "myToken", "CLIENT_SECRET", "GITHUB_PAT", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"]
)
def test_real_keys_stay_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of every form that services give out is taken out of text."""
    for kind, key in KEYS.items():
        monkeypatch.setenv(name, key)
        assert redact(f"It is {key} indeed.") == "It is [key] indeed.", kind


SIGNS = "!#$%^&*+=~?"
ALPHABETS = {
    "hexadecimal digits": "0123456789abcdef",
    "letters of both cases and digits": BASE62,
    "small letters and digits": LOWER,
    "letters of both cases": string.ascii_letters,
    "base32 in capitals": string.ascii_uppercase + "234567",
    "base32 in small letters": string.ascii_lowercase + "234567",
    "base64 with `+` and `/`": BASE62 + "+/",
    "base64 with `-` and `_`": BASE62 + "-_",
    "letters of both cases, digits and the signs above": BASE62 + SIGNS,
    "small letters, digits and the signs above": LOWER + SIGNS,
    "letters of one case": string.ascii_lowercase,
}
"""What docs/faults.md says that keys are drawn from."""


def told_rates() -> list[tuple[str, int, int]]:
    """Characters, how many of them a key has, and how many percent of such keys may not be known, as the page says."""
    page = (Path(__file__).parent.parent / "docs" / "faults.md").read_text(encoding="utf-8")
    head, _, *rows = page.partition("| drawn from")[2].partition("\n\n")[0].split("\n")
    sizes = [int(size) for size in re.findall(r"\d+", head)]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [name for name, *_ in cells] == [*ALPHABETS]
    return [
        (ALPHABETS[name], size, int(most)) for name, *rates in cells for size, most in zip(sizes, rates, strict=True)
    ]


DJANGO = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"
"""What Django draws the 50 characters of a SECRET_KEY from."""
DRAWN = [*told_rates(), (DJANGO, 50, 2), (string.ascii_uppercase + string.digits + SIGNS, 32, 2)]


@for_each(DRAWN)
def test_as_many_random_keys_are_known_as_the_page_says(drawing: tuple[str, int, int]) -> None:
    """Of keys that are drawn at random few look like names, and the fewer the longer they are: no more than the page
    says, and not far fewer."""
    alphabet, size, most = drawing
    chance = random.Random(size)
    keys = ["".join(chance.choices(alphabet, k=size)) for _ in range(1_000)]

    unknown = sum(key not in set(secrets("A_TOKEN", key)) for key in keys) / 10
    assert unknown <= most <= 1.5 * unknown + 2


SECRET_VARIABLES = [
    "A_KEY", "apiKey", "A_APIKEY", "A_TOKEN", "A_SECRET", "A_PASSWORD", "A_PASSWD", "A_PASSPHRASE", "A_CREDENTIAL",
    "A_CREDENTIALS", "A_PAT", "A_PWD", "A_KEY_2", "A_TOKEN2", "A_KEYS", "SESSION_COOKIE", "NPM_CONFIG__AUTH", "A_JWT",
    "SECRET_KEY_BASE", "TLS_PRIVATE_KEY", "token", "PASSWORD", "TS_AUTHKEY", "AWS_ACCESSKEY", "PRIVATEKEY",
    "MASTERKEYS", "AppKey", "MONKEY_KEY", "HOTKEY", "MONKEY", "TURKEY_2",
]  # fmt: skip


def test_names_of_variables_that_count() -> None:
    """A variable counts by the last part of its name."""
    for name in SECRET_VARIABLES:
        assert KEYS["hex"] in set(secrets(name, KEYS["hex"])), name


OTHER_VARIABLES = [
    "SECRET_NAME", "KEY_ID", "SECRET_REGION", "TOKENIZER_MODEL", "AUTH_DOMAIN", "TOKEN_FILE", "KEY_PATH", "TOKEN_URL",
    "KEYMAP", "TOKENIZER_CONFIG", "PWD", "SSH_AUTH_SOCK", "COMPAT",
]  # fmt: skip


def test_names_of_variables_that_do_not() -> None:
    """A variable that names a thing, or says where it is, does not count, whatever its value looks like."""
    for name in OTHER_VARIABLES:
        assert list(secrets(name, KEYS["hex"])) == [], name


def test_the_names_in_a_json_credential_stay() -> None:
    """Of credentials in JSON the key is a secret by itself, and the names beside it are not."""
    body = b64encode(BYTES).decode()
    value = (
        '{"type": "service_account", "project_id": "my-project-123456", "private_key": "-----BEGIN PRIVATE KEY-----\\n'
    )
    found = set(secrets("GOOGLE_CREDENTIALS", f'{value}{body}\\n-----END PRIVATE KEY-----\\n"}}'))

    assert body in found
    assert not {"service_account", "my-project-123456", "-----BEGIN", "KEY-----", '"project_id":'} & found


def test_a_debate_in_such_an_environment(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole debate about the words of the environment runs, and its journal and report have them as they were."""
    for name, value in ENVIRONMENTS["names"].items():
        if name not in ("PWD", "OLDPWD"):
            monkeypatch.setenv(name, value)
    Path("a.yaml").write_text("positions: {a: Move eu-west-1., b: Stay on us-latin1.}\nrounds: 1\noutput: r.md\n")
    topic = "Should prod-db-main move to Postgres?"
    ran = debate("run", "--answers=a.yaml", "--rehearse", f"--topic={topic}")

    files = [path for path in here.rglob("r.*") if path.is_file()]
    assert ran.code == 0, ran.err
    assert "[key]" not in ran.out + ran.err
    for path in files:
        assert "[key]" not in path.read_text(encoding="utf-8")
    assert any(topic in path.read_text(encoding="utf-8") for path in files if path.suffix == ".md")


def test_a_cast_of_ordinary_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cast that names the model of a variable is taken; one that holds a provider's key is refused."""
    monkeypatch.setenv("TOKENIZER_MODEL", "claude-opus-5")
    monkeypatch.setenv("DEBATE_KEY_HERE", "k-12")

    assert cast_problems({"a": ("anthropic:claude-opus-5",)}) == []
    assert "contains a key" in cast_problems({"a": ("command:say k-12",)})[0]


STRUCTURE = (
    "BriefSent.brief_digest BriefSent.by BriefSent.turn EarlierDebate.ended_after EarlierDebate.conceded"
    " EarlierQuestion.before EarlierDebate.digest EarlierDebate.interventions EarlierDebate.root"
    " EarlierDebate.winner EarlierDebate.strength Declined.turn EarlierRound.winner EndedEarly.after Field.of"
    " Field.only_if Field.unless Field.numbered"
    " Format.context_heard_by Format.judged_by Format.name Format.private Format.winner_of Opened.nonce"
    " Opened.prompts Opened.version Phase.heard_by Phase.name Phase.refusals_heard_by Phase.reply"
    " Phase.seats Phase.template Quotes.tag Quotes.unverified Quotes.verified QuestionAsked.to"
    " Reassigned.seat Reassigned.who"
    " Reply.brief_digest Reply.by Reply.asked_code Reply.unsupported Settings.cast Settings.first Settings.format"
    " Settings.strictness"
    " Rejected.turn Spoke.turn CallFailed.by"
    " CallFailed.turn StructuredReplyGiven.turn Condition.strictness Condition.option"
)


def holders(annotation: object) -> set[type[FrozenModel]]:
    """The values that an annotation names, with all that they hold."""
    if isinstance(annotation, type) and issubclass(annotation, FrozenModel):
        fields = [one.annotation for one in annotation.model_fields.values()]
        inner = [one for one in fields if not _names(one, annotation)]
        return {annotation}.union(*map(holders, inner))
    return set().union(*map(holders, get_args(annotation)))


def _names(annotation: object, value: type[FrozenModel]) -> bool:
    return annotation is value or any(_names(one, value) for one in get_args(annotation))


def _has_strings(annotation: object) -> bool:
    if get_origin(annotation) is dict:
        return _has_strings(get_args(annotation)[1])  # keys of mappings are names
    return annotation in (str, Any) or any(map(_has_strings, get_args(annotation)))


def test_every_string_of_an_event_is_text_or_structure() -> None:
    """Each field of an event that holds strings is marked as free text, or is known to name or decide something."""
    found = {
        f"{one.__name__}.{name}"
        for one in holders(Event)
        for name, field in one.model_fields.items()
        if FREE_TEXT not in field.metadata and _has_strings(field.annotation)
    }

    assert found == set(STRUCTURE.split())


def test_structure_is_never_redacted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is spelled like a turn's id, a seat or a cast changes these nowhere."""
    reply = Reply(
        text="Not 1.opening.a!",
        brief_digest="0" * 64,
        by="judge-1",
        model="judge-1",
        stop_reason="judge-1",
        called=True,
    )
    events: list[Event] = [
        opened_event(topic="Is 1.opening.a safe?", cast={"a": ("host",), "b": ("host",), "judge": ("judge-1",)}),
        Spoke(turn="1.opening.a", reply=reply),
        StructuredReplyGiven(turn="1.verdict.judge-1", data={"judge-1": "It is 1.opening.a."}, reply=reply),
        CallFailed(turn="1.opening.a", by="judge-1", problem="1.opening.a: no", reply=reply),
        QuestionAsked(question="Why 1.opening.a?", to=("judge-1",)),
    ]  # fmt: skip
    monkeypatch.setenv("DEBATE_KEY_A", "1.opening.a")
    monkeypatch.setenv("DEBATE_KEY_B", "judge-1")
    with JournalWriter.create("j.jsonl", events[0]) as journal:  # type: ignore[arg-type]
        for event in events[1:]:
            journal.append(event)
    opened, spoke, voted, unanswered, raised = (one.model_dump() for one in read("j.jsonl").events)

    assert (opened["setup"]["topic"], opened["setup"]["cast"]["judge"]) == ("Is [key] safe?", ("judge-1",))
    assert (spoke["turn"], voted["turn"], raised["to"]) == ("1.opening.a", "1.verdict.judge-1", ("judge-1",))
    assert spoke["reply"] == voted["reply"] == unanswered["reply"]
    said = {"text": "Not [key]!", "by": "judge-1", "model": "[key]", "stop": "[key]", "brief": "0" * 64}
    assert said.items() <= spoke["reply"].items()
    assert voted["ballot"] == {"judge-1": "It is [key]."}
    assert (unanswered["turn"], unanswered["trouble"]) == ("1.opening.a", "[key]: no")
    assert raised["question"] == "Why [key]?"
