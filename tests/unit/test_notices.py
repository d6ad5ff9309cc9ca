"""Notices of services that come as translations, and captions that only look like them."""

import gzip
import os
from pathlib import Path

import pytest

from pipeline.translation.answers import fault, unescape_answer
from pipeline.translation.notices import notice, stopping_notice

MIRROR = os.environ.get("MULTILINGUAL_MIRROR")
LINE = "A dog runs."

NOTICES = """
Quota exceeded, please upgrade.
You have reached the end of your trial.
Your trial has expired.
Your subscription has expired
Subscription expired. Renew to continue.
Character limit for this month used up
You have used 500000 of 500000 characters.
Daily limit reached, try again tomorrow
Usage limit exceeded
Limit reached
Limit exceeded
monthly characters exhausted
Out of credits
Insufficient credits
Insufficient balance
Your account balance is too low
Not enough funds on account
Payment required
Please add a payment method to continue
Billing is not enabled for this project
Please enable billing
API key not valid. Please pass a valid API key.
The API key is missing
Invalid key
key is invalid
Wrong key
Invalid authentication
Authentication failed
Authorization failed. Please check your credentials
Authorization header missing
Not authorized
403 Forbidden
Forbidden
HTTP 429
429 Too Many Requests
429
503 Service Temporarily Unavailable
Service is overloaded, try again later
The server is busy. Please retry later.
Server busy
Try again later.
Please wait a moment and try again
Please slow down
You are sending requests too quickly
Request was throttled. Expected available in 20 seconds.
You're being rate limited
rate_limit_exceeded
RATE_LIMITED
QuotaExceeded
quota_exceeded
Resource has been exhausted (e.g. check quota).
RESOURCE_EXHAUSTED
Permission denied
PERMISSION_DENIED
Access to this resource is restricted
Your IP has been blocked
Your IP address has been temporarily banned
Your access has been suspended
Account suspended
Account disabled
User is not verified
Please verify you are human
Please complete the security check to continue
Are you a robot?
Enable JavaScript and cookies to continue
Checking your browser before accessing
Just a moment...
Please enable cookies.
Our systems have detected unusual traffic from your computer network
Attention Required! | Cloudflare
Error 1020
Error 500 (Server Error)!!1
An unexpected error has occurred
Unexpected error
Unknown error
Internal error
Error
error
Oops! Something went wrong
Sorry, something is wrong on our side
Sorry, we could not translate this text
Sorry, this language is not supported yet
Unable to translate
Could not translate
Cannot translate text
Translation not available for this language pair
No translation found
No translation available
Unsupported language
Language not supported
Unsupported source language: en
Target language not supported
Target language is invalid
The target language is not valid
en-de is not available as a translation language pair
Model not found
Model en-de is not loaded
The model is currently loading
Model is overloaded
Worker timed out
Timeout
Gateway Timeout
Upstream request timeout
upstream connect error or disconnect/reset before headers
Connection refused
Connection reset by peer
Bad Request
Bad request: q parameter required
Missing required parameter: q
Method Not Allowed
Not Found
404 page not found
404 Not Found
The requested URL was not found on this server.
This service is no longer available
This API has been deprecated
This endpoint is deprecated, use v2 instead
API version not supported
Service discontinued
We are down for maintenance
Under maintenance
Scheduled maintenance in progress
Please contact your administrator
Contact support@example.com
For more information visit https://example.com/pricing
See www.example.com/plans
To continue using this service please register
Please register to continue
Please sign up
Sign in to continue
Login required
Please log in
Session expired
Your session has timed out
Token expired
The access token is invalid or has expired
Invalid token
Demo version
This is a demo version, limited to 10 words
Trial version
Evaluation copy
Free plan limit reached
Upgrade to Pro to translate more
Get the premium version
You need a premium account
Visit our website to buy more characters
MYMEMORY WARNING: YOU USED ALL AVAILABLE FREE TRANSLATIONS FOR TODAY.
USAGE LIMITS EXCEEDED
NO CONTENT
{"error": "x"}
{"translatedText": "Ein Hund"}
[object Object]
null
undefined
None
NaN
N/A
TypeError: x is undefined
Traceback (most recent call last)
KeyError: 'de'
java.lang.NullPointerException
Exception in thread main
SQLSTATE[HY000] [2002] Connection refused
Warning: mysqli_connect()
Fatal error: Uncaught
Segmentation fault
As an AI language model, I cannot
I'm sorry, I can't help with that
Sure! Here is the translation: Ein Hund läuft.
Translation: Ein Hund läuft.
Übersetzung: Ein Hund läuft.
Here's the translation:
Limit überschritten
Anfragelimit erreicht
Ihr Guthaben ist aufgebraucht
Ungültiger Schlüssel
Ungültiger API-Schlüssel
Zugriff verweigert
Dienst nicht verfügbar
Bitte versuchen Sie es später erneut
Interner Serverfehler
Zu viele Anfragen
Sprache wird nicht unterstützt
Anmeldung erforderlich
Quota dépassé
Quota dépassée, veuillez mettre à niveau
Clé API invalide
Trop de requêtes
Accès refusé
Service indisponible
Veuillez réessayer plus tard
Erreur interne du serveur
Langue non prise en charge
Cuota excedida
Clave no válida
Demasiadas solicitudes
Acceso denegado
Servicio no disponible
Překročen limit
Neplatný klíč
Příliš mnoho požadavků
Přístup odepřen
Služba není dostupná
请求过于频繁
访问频率受限
账户余额不足
余额不足
无效的密钥
签名错误
不支持的语言
服务不可用
系统错误
请稍后再试
未授权用户
请登录
リクエストが多すぎます
利用制限を超えました
無効なキー
アクセスが拒否されました
サービスは利用できません
しばらくしてからもう一度お試しください
言語はサポートされていません
サーバーエラー
Превышен лимит запросов
Неверный ключ
Доступ запрещен
Сервис недоступен
요청이 너무 많습니다
접근이 거부되었습니다
تم تجاوز الحصة
مفتاح غير صالح
لقد تجاوزت الحد المسموح
الخدمة غير متوفرة
""".strip().split("\n")

CAPTIONS = """
A robot.
A fashion model is posing.
A laptop shows an error message on its screen.
A sign that says please wait here to be seated.
A security guard stands at the gate.
A set of keys and a credit card on a table.
A hotel key card.
A server brings plates to a table.
Service dog.
Keys found on the ground.
A browser window on a monitor.
Milk and cookies.
A website on a screen.
A contact lens.
A service station.
A child accepted the award.
Warning sign.
A plan.
A login screen.
A couple of wood signs pointed in different directions.
""".strip().split("\n")


@pytest.mark.parametrize("target", ["de", "en", "zh", "ja", "ru", "af"])
def test_notices_are_not_translations(target: str) -> None:
    kept = [text for text in NOTICES if not (stopping_notice(LINE, text) or fault(LINE, text, target))]
    assert not kept


def test_captions_about_servers_and_keys_are_not_notices() -> None:
    taken = [text for text in CAPTIONS if stopping_notice("Ein Bild", text) or notice("Ein Bild", text, "en")]
    assert not taken


@pytest.mark.parametrize(
    ("line", "answer", "target"),
    [
        ("A man wearing a NIKE cap.", "NIKE", "zh"),
        ("Un panneau dit « accès refusé ».", "A sign says access denied, one suspects.", "fr"),
        ("HOMELESS ANYTHING HELPS", "男は HOMELESS ANYTHING HELPS と書いてあるサインを持っています。", "ja"),
        ("Two men on steps in a metropolitan area.", "两个人在一个METROPOLITAIN区域的步骤的底部。", "zh"),
        ("The quarterback throws.", "クォーターバックはサッカーを放つ準備ができています。", "ja"),
        ("The flight attendant shows a vest.", "Der oder die Flugbegleiter_in zeigt die Weste.", "de"),
        ("Zwei Holzschilder", "A COUPLE OF WOOD SIGNS POINTED IN DIFFERENT DIRECTIONS", "en"),
        ("A dog is white or black.", "Die hond is wit of swart.", "af"),
        ("A sign says 404 not found.", "Ein Schild sagt: 404 not found.", "de"),
        ("See www.example.com", "Siehe www.example.com", "de"),
        ("Room 429", "429", "de"),
    ],
)
def test_real_answers_are_not_notices(line: str, answer: str, target: str) -> None:
    assert notice(line, answer, target) == stopping_notice(line, answer) == ""


@pytest.mark.skipif(MIRROR is None, reason="MULTILINGUAL_MIRROR is not set")
@pytest.mark.parametrize("target", ["de", "fr", "cs"])
def test_human_translations_are_kept(target: str) -> None:
    """Both ways, of Multi30K's validation and test images."""
    (folder,) = Path(MIRROR or "").glob("raw.githubusercontent.com/multi30k/dataset/*/data/task1/raw")
    count = 0
    for file in sorted(folder.glob(f"*.{target}.gz")):
        english = file.with_name(file.name.replace(f".{target}.", ".en."))
        if file.name.startswith("train"):
            continue
        texts = [gzip.decompress(each.read_bytes()).decode().split("\n") for each in (english, file)]
        for one, other in zip(*texts, strict=True):
            for line, answer, code in ((one, other, target), (other, one, "en")):
                count += bool(line.strip())
                found = fault(line, unescape_answer(line, answer), code) or stopping_notice(line, answer)
                assert not found, (line, answer)
    assert count > 2 * 3000
