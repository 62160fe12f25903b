"""Recognises answers that come as a success and are not the page: notices, walls, damaged text.

What belongs here: telling from the words and the shape of a page's text that it is a notice of
failure or maintenance, of a page that is gone, of a domain for sale, a wall for robots, a consent
wall, or text whose characters were lost. What does not: markup (extract.py), bytes and content
types (reading.py).

Whatever speaks so is short: from a certain number of words on, a page that holds the same words is
an article about them. A notice says so in its heading, or in a few words without one.

An obstacle that may be gone another time is passing: such a page counts as missing, like one whose
server did not answer. The others stand for what the site offers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

Obstacle = Literal[
    "blocked",
    "broken",
    "busy",
    "consent",
    "empty",
    "garbled",
    "gone",
    "locked",
    "needs a browser",
    "parked",
    "textless",
]
"""Why a page has no text to read."""

OBSTACLES: dict[Obstacle, str] = {
    "blocked": "blocked: the site shows a wall for robots instead of the page",
    "broken": "out of order: the site shows a notice of failure or maintenance instead of the page",
    "busy": "busy: the site asks visitors to wait or to come back instead of showing the page",
    "consent": "consent wall: the site shows its terms for cookies instead of the page",
    "empty": "empty: the page holds no readable text",
    "garbled": "garbled: the characters of the page were lost on its way here",
    "gone": "gone: the site says that it has no such page",
    "locked": "locked: the site shows the page to those alone who sign in or say that they may",
    "needs a browser": "needs a browser: the page has no text without its scripts",
    "parked": "parked: nothing stands at this domain but an offer to buy it",
    "textless": "out of order: the page came without any text",
}
"""The reason that each obstacle is given as."""

PASSING: frozenset[Obstacle] = frozenset({"broken", "busy", "garbled", "textless"})
"""Obstacles that may be gone another time."""

_HEADED_WORDS = 220
"""Words up to which a page whose heading is a notice is one."""
_PLAIN_WORDS = 70
"""Words up to which a page is a notice for one phrase in its text; twice as many for two."""
_LOCKED_WORDS = 35
"""Likewise for the words of a lock, behind which a page may show how it begins."""
_SURE_WORDS = 600
"""Words up to which it is one for its heading and a phrase together, and may be a consent wall."""
_WALL_TEXT = 2_000
"""Characters up to which a page may be a wall."""
_OWN_WORDS = 30
"""Words beside those on cookies from which a page is no consent wall."""


# --- Words --------------------------------------------------------------------------------------

_HEADINGS: dict[Obstacle, re.Pattern[str]] = {
    "broken": re.compile(
        r"(?:(?:http|status|code|error|fehler|erreur|errore|erro)[ :]+)+(?:5\d\d|429|408)\b.{0,60}"
        r"|(?:5\d\d|429|408)(?: -)? (?:error|internal|bad|service|gateway|server|too|request)\b"
        r".{0,60}"
        r"|50[0-4]|52\d"
        r"|(?:the )?(?:web ?)?(?:internal )?(?:server|application|database|runtime|fatal|proxy"
        r"|connection|unknown|unexpected|critical)[ -]error\b.{0,40}"
        r"|.{0,40}error establishing a database connection|database (?:connection )?error.{0,30}"
        r"|(?:bad gateway|gateway time-?out|(?:the |this |our )?(?:service|site|website|page|server"
        r"|system)?s?(?: is| are)?(?: currently| temporarily)? ?(?:unavailable|offline|down))"
        r"(?:\W+(?:error|nginx|\d{3}|apache).{0,20})?"
        r"|.{0,40}\b(?:(?:under|undergoing|down for|in) maintenance|maintenance (?:mode|page|break"
        r"|window|in progress|notice|underway)|(?:scheduled|site|planned|system|website)"
        r" maintenance)\b.{0,30}|maintenance"
        r"|(?:we'll|we will) be (?:right |back ?)(?:back|soon|shortly|online)?.{0,20}|be right back"
        r"|(?:oops|whoops|sorry|uh[- ]oh)?[,!.: …-]*(?:something went wrong|an? (?:unexpected "
        r"|unknown )?"
        r"error (?:has )?occurr?ed|looks like something went wrong).{0,30}"
        r"|there has been an error processing .{0,40}|no such app"
        r"|server error in '/.{0,40}|web server is down.{0,20}|origin (?:is unreachable|dns error)"
        r"|.{0,30}connection timed out|welcome to nginx!?|apache2? .{0,30}default page.{0,20}"
        r"|it works!?|iis windows server|test page for .{0,40}|site offline|website offline"
        r"|(?:wegen )?wartung(?:sarbeiten|smodus)?.{0,30}|.{0,30}wird (?:gerade )?gewartet"
        r"|.{0,30}vorübergehend nicht (?:erreichbar|verfügbar)|interner serverfehler"
        r"|.{0,30}(?:en|in|em) (?:cours de )?(?:maintenance|mantenimiento|manutenzione|manutenção)"
        r"|erreur interne.{0,20}|.{0,40}erreur .{0,20}base de données|error interno.{0,20}"
        r"|.{0,40}error al .{0,30}base de datos|.{0,40}connessione al database"
        r"|.{0,40}(?:momentanément|temporairement) indisponible|.{0,40}no disponible temporalmente"
        r"|.{0,40}temporaneamente non (?:disponibile|raggiungibile)|tijdelijk niet .{0,20}"
        r"|.{0,20}(?:технические|профилактические) работы.{0,30}|.{0,30}временно недоступ.{0,20}"
        r"|ошибка .{0,40}базой данных|przerwa techniczna.{0,30}|.{0,20}メンテナンス.{0,20}"
        r"|.{0,10}(?:系统|网站|服务器)?(?:维护|错误|故障|繁忙).{0,10}|.{0,20}점검 ?중.{0,10}"
    ),
    "gone": re.compile(
        r"(?:error |http )*4(?:04|10)\b.{0,60}|(?:oops|sorry|uh[- ]oh)?[,!.: …-]*"
        r"(?:(?:this |the |that )?(?:page|article|file|document|content|story|site|url)"
        r" ?(?:was |is |could |can)?(?:not|n't|cannot)?(?: be)? ?(?:not )?(?:found|missing"
        r"|available|exist)|not found|nothing found|no such page).{0,30}"
        r"|.{0,20}(?:page|article) (?:you .{0,30})?(?:does not|doesn't|no longer) exists?.{0,20}"
        r"|.{0,20}seite (?:wurde )?nicht gefunden|page introuvable|página no encontrada"
        r"|pagina non trovata|página não encontrada|pagina niet gevonden|страница не найдена"
        r"|ページが見つかりません.{0,10}|.{0,10}页面不存在.{0,10}"
    ),
    "parked": re.compile(
        r".{0,60}\b(?:(?:domain|name) (?:name )?(?:is |may be )?(?:for sale|parked|expired)"
        r"|is for sale|parked (?:domain|page)|domain (?:name )?(?:has )?expired"
        r"|buy this domain).{0,40}|(?:website )?coming soon|future home of .{0,40}"
        r"|(?:this )?account (?:has been |is )?suspended|hugedomains.{0,40}"
    ),
}
_PHRASES: dict[Obstacle, re.Pattern[str]] = {
    "broken": re.compile(
        r"error establishing a database connection|(?:can(?:not|'t)|could ?n[o']t|unable to|failed"
        r" to) connect to (?:the )?(?:database|mysql|db)|database (?:connection|server) (?:error"
        r"|failed|is down)|sqlstate\[|mysql(?:i)? (?:server has gone away|error)|too many"
        r" (?:database )?connections|max_user_connections"
        r"|down for (?:scheduled |routine |planned |some )?maintenance|unavailable for (?:scheduled"
        r" )?maintenance|(?:undergoing|performing|under|carrying out|doing) (?:some |a |brief "
        r"|essential |scheduled |planned |routine |system |site )*maintenance|maintenance mode"
        r"|(?:site|website|page|service|server|system|application|portal)s? (?:is|are) "
        r"(?:currently |temporarily |momentarily )+(?:\w+ )?(?:unavailable|down|offline|not"
        r" available|unable|out of service|closed)"
        r"|(?:we'll|we will|we should) be (?:right )?back|(?:please )?(?:check|come) back (?:soon"
        r"|later|shortly|in a (?:few|little|while))|back (?:online|up) (?:soon|shortly|as soon)"
        r"|internal server error|bad gateway|gateway time-?out|service (?:temporarily )?unavailable"
        r"|http error 5\d\d|error 5\d\d|\b5\d\d (?:error|internal|bad|service|gateway)\b"
        r"|upstream (?:connect error|request timeout)|no healthy upstream|backend fetch failed"
        r"|guru meditation|web server is (?:down|returning)|the origin web server|host error"
        r"|bandwidth limit exceeded|resource limit is reached|temporarily unable to service"
        r"|(?:maintenance|capacity) (?:downtime|problems)|the server (?:encountered|is temporarily"
        r"|timed out)|misconfiguration and was unable|connection (?:was )?(?:refused|reset by peer)"
        r"|the requested url could not be retrieved|(?:an? (?:unexpected|unknown|internal) )error"
        r" (?:has )?occurr?ed|something went wrong|we(?:'re| are) sorry, but something"
        r"|(?:please )?(?:try (?:again|your request again|refreshing|reloading))(?: (?:later|in a"
        r"|shortly|soon|the page))?|fatal error:|parse error:|uncaught (?:\w*error|exception)"
        r"|traceback \(most recent call last\)|stack trace:|unhandled exception|server error in '/"
        r"|if you see this page, the nginx web server|default (?:web ?)?page for this server"
        r"|this is the default welcome page|nosuchbucket|the specified bucket does not exist"
        r"|wegen wartungsarbeiten|wird (?:gerade |derzeit |aktuell )?gewartet|vorübergehend nicht"
        r" (?:erreichbar|verfügbar)|versuchen sie es (?:bitte )?(?:später|in wenigen)|datenbank"
        r"(?:verbindung|fehler)|(?:est|sommes) (?:actuellement )?en (?:cours de )?maintenance"
        r"|(?:momentanément|temporairement) indisponible|base de données|réessayer (?:plus tard"
        r"|ultérieurement)|(?:está|estamos) en mantenimiento|no (?:está )?disponible temporalmente"
        r"|temporalmente (?:no disponible|fuera de servicio)|conexión con la base de datos"
        r"|inténtelo"
        r" (?:de nuevo )?más tarde|in manutenzione|temporaneamente non (?:disponibile"
        r"|raggiungibile)"
        r"|connessione al database|riprova più tardi|em manutenção|temporariamente indisponível"
        r"|conexão com o banco de dados|in onderhoud|tijdelijk (?:niet beschikbaar|buiten gebruik)"
        r"|технические работы|временно недоступ|базой данных|попробуйте позже|przerwa techniczna"
        r"|trwają prace|メンテナンス中|しばらくお待ち|(?:系统|网站)(?:正在)?维护|暂时无法访问"
        r"|服务器(?:错误|繁忙)|점검 ?중|تحت الصيانة|قيد الصيانة"
        # Whatever happened, they ask for patience.
        r"|thank you for (?:your (?:patience|understanding)|bearing with)|pardon (?:the|our) dust"
        r"|(?:sorry|apologi[sz]e) for (?:the|any|this) inconvenience|für ihr(?:e)? (?:verständnis"
        r"|geduld)|gleich wieder da|merci de votre (?:patience|compréhension)|gracias por su"
        r" paciencia|disculpen? las molestias|ci scusiamo per|pela (?:sua )?(?:paciência"
        r"|compreensão)|fora do ar|voltaremos em breve"
        r"|anlay\u0131\u015f\u0131n\u0131z için|bak\u0131m(?:da| çal\u0131\u015fmas\u0131)"
        r"|daha sonra tekrar|приносим извинения|przepraszamy za|شكرا لصبركم"
        r"|mysqli?_connect|there is no app configured|error processing your request"
        r"|terms (?:and conditions )?to (?:connect|get online)|sign in to (?:the |this )?wi-?fi"
    ),
    "busy": re.compile(
        r"too many requests|rate limit(?:ed| exceeded| reached)|request limit|unusual traffic from"
        r"|you are (?:now )?in (?:line|the queue|a queue)|waiting room|your (?:turn|place in line)"
        r"|high (?:volume|traffic|demand).{0,60}(?:wait|try|queue)|quota exceeded"
    ),
    "gone": re.compile(
        r"(?:page|article|file|document|content|item|url|link|story)s? (?:that )?(?:you(?:'re| are"
        r"|'ve| have)? (?:looking|requested|trying|tried|followed|search|clicked|want).{0,30} )?"
        r"(?:(?:can(?:not|'t| not)|could ?n[o']t|was not|is not|were not) (?:be )?(?:found|located"
        r"|available)|(?:does ?n[o']t|no longer) exists?|(?:has been|was) (?:moved|removed|deleted"
        r"|taken down)|may have been (?:moved|removed|deleted)|is no longer available)"
        r"|blog has been removed|404 (?:not found|error|page)|error 404"
        r"|we (?:can't|couldn't|cannot) (?:seem to )?find"
        r" (?:the|that|this) page|seite (?:konnte )?(?:wurde )?nicht gefunden|page (?:est )?"
        r"introuvable|página (?:no encontrada|não encontrada)|pagina (?:non trovata|niet gevonden)"
        r"|страница не найдена|页面不存在|ページが見つかりません"
    ),
    "parked": re.compile(
        r"(?:this|the) (?:web ?page|domain|site|name)(?: name)?(?: [\w.-]+)? (?:is|may be)"
        r" (?:for sale|parked|available for (?:sale|purchase))|buy this domain"
        r"|domain (?:is )?parked"
        r"|inquire about this domain|(?:interested in|make an offer (?:on|for)) this domain"
        r"|domain (?:name )?has (?:expired|recently been registered)|parked free, courtesy of"
        r"|future home of something|this account has been suspended|get this domain"
        r"|domain parking|pending (?:renewal or )?deletion|lorem ipsum dolor"
        r"|this is your first post"
        r"|diese domain (?:steht zum verkauf|kaufen)|ce nom de domaine est à vendre"
    ),
}
_PHRASES["needs a browser"] = re.compile(
    r"javascript is (?:not available|disabled|required)|(?:enable|turn on|activate) javascript"
    r"|requires javascript"
)
_PHRASES["locked"] = re.compile(
    r"(?:you (?:must|need to)|please) (?:log|sign) in|(?:log|sign) in to (?:continue|see|view|read)"
    r"|subscribe to (?:continue|keep|read)|already a (?:subscriber|member)"
    r"|(?:are you|you must be) (?:of legal age|over (?:18|21)|at least (?:18|21))"
    r"|(?:only |exclusively )?(?:for|to) (?:our )?subscribers only|only (?:for|to) subscribers"
    r"|abonnez-vous pour|réservé aux abonnés|nur für abonnenten|suscríbete para|accedi o abbonati"
)
_FRAME = re.compile(r"\s*(?:at [\w.$<>/]+\(|#\d+ |file \"?[/\w])", re.IGNORECASE)
"""A line of what a program leaves that failed."""
_MARKS = re.compile(r"[{}()=<>\\/_$|&*^~]")
_MARKS_SHARE = 0.1
"""Share of characters that programs are made of; real pages have at most a fiftieth."""

_COOKIE_WORDS = re.compile(
    r"geolocation|device|personali[sz]ed|audience|your (?:choices|profile)|tracking|purposes"
    r"|cookie|consent|privacy|partner|personal data|gdpr|advertis|preferences|legitimate interest"
    r"|accept|reject|agree|datenschutz|einwilligung|zustimm|akzeptier|confidentialité|accepter"
    r"|refuser|privacidad|aceptar|rechazar"
)
_CONSENT = re.compile(
    r"before you (?:continue|proceed)|we (?:value|respect|care about) your privacy"
    r"|accept (?:all|and"
    r" continue|cookies)|(?:we|us) and our (?:\d+ )?partners|(?:uses?|use of|using|store|and other)"
    r" cookies|cookie (?:policy|settings|preferences|consent|notice)|your (?:privacy|consent)"
    r" (?:choices|settings|preferences|is)|manage (?:your )?(?:cookies|consent|preferences)"
    r"|accetta(?:re)? (?:tutti )?i cookie|cookies (?:zu|akzeptieren)"
    r"|alle akzeptieren|tout accepter|aceptar (?:todas|cookies)"
)

_WALL_TITLES = (
    "just a moment",
    "attention required",
    "access denied",
    "access to this page has been denied",
    "are you a robot",
    "are you human",
    "robot check",
    "security check",
    "pardon our interruption",
    "human verification",
    "verify you are human",
    "checking your browser",
    "bot verification",
    "ddos-guard",
    "making sure you're not a bot",
)
_WALL_PHRASES = (
    "prove your humanity",
    "prove you are human",
    "prove you're not a robot",
    "verify you are human",
    "verify you are a human",
    "verify that you are human",
    "verify that you're not a robot",
    "verifying you are human",
    "confirm you are human",
    "i'm not a robot",
    "are you a robot?",
    "complete the captcha",
    "solve the captcha",
    "enter the characters you see below",
    "captcha challenge",
    "enable javascript and cookies to continue",
    "checking your browser before accessing",
    "checking if the site connection is secure",
    "you have been blocked",
    "you've been blocked",
    "your access to this site has been limited",
    "access to this page has been denied",
    "have permission to access",
    "have permission to view",
    "incapsula incident id",
    "request unsuccessful",
    "automated access to",
    "press & hold to confirm",
    "access to this website has been blocked",
    "bot detection",
    "ddos protection by",
)

_SEPARATOR = re.compile(r"\s+[|–—·•»:-]+\s+|\s*[|»]\s*|:\s+")
_WORD = re.compile(r"\w+")
# Writing without spaces: two characters are about a word.
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}")


def is_wall(headings: Iterable[str], seen: str) -> bool:
    """Tell whether what a visitor without scripts sees is a wall for robots."""
    if len(seen) > _WALL_TEXT:
        return False
    text = _straightened(seen)
    if any(phrase in text for phrase in _WALL_PHRASES):
        return True
    return any(_straightened(head).startswith(_WALL_TITLES) for head in headings)


def notice_in(headings: Sequence[str], text: str) -> Obstacle | None:
    """Name the notice that a text is; None for a page that can be read.

    Args:
        headings: The page's title and main headings, if any.
        text: What it says, in lines.
    """
    if is_garbled(text):
        return "garbled"
    if _is_program(text):
        return "broken"
    words = _count_words(text, limit=_SURE_WORDS)
    if words > _SURE_WORDS:
        return None
    folded = _straightened(text)
    lines = [line for line in text.split("\n", 3)[:3] if line.strip()]
    parts = {part for head in (*headings, *lines) for part in _parts(head)}
    for obstacle, pattern in _PHRASES.items():
        found = {match.group() for match in pattern.finditer(folded)}
        heading = _HEADINGS.get(obstacle)
        if heading is not None and any(heading.fullmatch(part) for part in parts):
            most = _SURE_WORDS if found else _HEADED_WORDS
        else:
            most = _LOCKED_WORDS if obstacle == "locked" else _PLAIN_WORDS
            most *= min(len(found), 2)
        if words <= most:
            return obstacle
    return "consent" if _is_consent(text) else None


def _is_program(text: str) -> bool:
    """Tell whether a text is what a program is written in, or leaves when it fails."""
    sample = text[:_SAMPLE]
    lines = sample.split("\n")
    frames = sum(_FRAME.match(line) is not None for line in lines)
    return len(_MARKS.findall(sample)) > _MARKS_SHARE * max(
        len(sample), _LEAST_PROGRAM
    ) or frames > max(2, len(lines) / 2)


_LEAST_PROGRAM = 200


def _parts(heading: str) -> list[str]:
    """Split a heading from the name of its site: "Maintenance | The Site"."""
    whole = _straightened(heading)
    return [part.strip(" .!…") for part in (whole, *_SEPARATOR.split(whole)) if part.strip(" .!…")]


def _is_consent(text: str) -> bool:
    if not _CONSENT.search(_straightened(text)):
        return False
    sentences = set(re.split(r"(?<=[.!?])\s+|\n", text))
    own = (each for each in sentences if not _COOKIE_WORDS.search(each.casefold()))
    return sum(_count_words(each, limit=_OWN_WORDS) for each in own) < _OWN_WORDS


def _count_words(text: str, *, limit: int) -> int:
    """Count words up to a limit, so that a long page costs no more than a short one."""
    count = 0
    for word in _WORD.finditer(text):
        dense = len(_DENSE.findall(word.group()))
        count += max(1, dense)
        if count > limit:
            break
    return count


def _straightened(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").casefold().split())


# --- Characters ---------------------------------------------------------------------------------

_SAMPLE = 20_000
_LOST_SHARE = 0.02
"""Share of characters that no text has, from which a text is garbled: U+FFFD, controls, private
use, unassigned."""
_MIXED_SHARE = 0.1
"""Share of words written in two alphabets, or with capitals inside, likewise."""
_ACCENTED_SHARE = 0.5
"""Share of Latin letters that are not of the basic alphabet. Vietnamese, the most accented of
languages, has a quarter."""
_MISREAD = re.compile(
    # UTF-8 read as Latin-1 or windows-1252: a lead byte and its followers as two or three letters.
    "[\u00c2\u00c3\u00d0\u00d1\u00e3\u00e5\u00e4\u00e6\u00e7\u00e8\u00e9][\u0080-\u00bf\u0152\u0153"
    "\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201e\u2020-\u2022\u2026"
    "\u2030\u2039\u203a\u20ac\u2122]|\u00e2\u20ac."
    # The same of Cyrillic in UTF-8, read as windows-1251.
    "|[\u0420\u0421][\u00a0-\u00bb\u0402-\u040f\u0451-\u045f\u2013-\u203a\u20ac\u2116\u2122]"
)
_MISREAD_SHARE = 0.04
_CAPITALS_SHARE = 0.8
"""Share of capitals from which Cyrillic was read as another of its charsets, which swaps them."""
_INNER_CAPITALS = re.compile(r"[^\W\d_]*[a-z\u0430-\u044f][A-Z\u0410-\u042f]{2,}")
_LEAST_LETTERS = 40
_TELLING_LENGTH = 4


def is_garbled(text: str) -> bool:
    """Tell whether a text was read in another character set than it was written in.

    Of a text's beginning: characters that no text has, pairs that UTF-8 leaves when it is taken
    for Latin-1, words of two alphabets, and Latin letters that are mostly accented.
    """
    sample = text[:_SAMPLE]
    endless = sum(len(word) for word in re.findall(r"[\w+/=-]{60,}", sample))
    if not sample or sample.isascii():
        lost = sum(1 for each in sample if each < " " and each not in "\t\n\r")
        return lost > _LOST_SHARE * len(sample) or endless > len(sample) / 2
    lost = sum(
        each == "\ufffd"
        or unicodedata.category(each) in {"Co", "Cn", "Cs"}
        or (unicodedata.category(each) == "Cc" and each not in "\t\n\r\x85")
        for each in sample
    )
    misread = len(_MISREAD.findall(sample))
    if lost > max(3, _LOST_SHARE * len(sample)) or misread > max(3, _MISREAD_SHARE * len(sample)):
        return True
    letters = [each for each in sample if each.isalpha()]
    if len(letters) < _LEAST_LETTERS:
        return False
    latin = [each for each in letters if each < "\u0250"]
    accented = sum(each > "\u007f" for each in latin)
    cyrillic = [each for each in letters if "\u0410" <= each <= "\u044f"]
    capitals = sum(map(str.isupper, cyrillic))
    if len(latin) > len(letters) / 2 and accented > _ACCENTED_SHARE * len(latin):
        return True
    if len(cyrillic) > len(letters) / 2 and capitals > _CAPITALS_SHARE * len(cyrillic):
        return True
    words = [word for word in _WORD.findall(sample) if len(word) >= _TELLING_LENGTH]
    mixed = sum(
        bool(_INNER_CAPITALS.match(word))
        or (
            any("a" <= each.lower() <= "z" for each in word)
            and any("\u0370" <= each <= "\u052f" for each in word)
        )
        for word in words
    )
    return mixed > _MIXED_SHARE * max(len(words), 20)
