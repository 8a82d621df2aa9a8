from __future__ import annotations

import pytest

from tokbench.bench.config.languages import resolve, resolve_all
from tokbench.bench.errors import UsageError


@pytest.mark.parametrize(
    ("key", "tag", "script"),
    [
        ("eng_Latn", "en", "Latn"),
        ("fra_Latn", "fr", "Latn"),
        ("zho_Hans", "zh-Hans", "Hans"),
        ("zho_Hant", "zh-Hant", "Hant"),
        ("en", "en", "Latn"),
        ("pt", "pt", "Latn"),
        ("nb", "nb", "Latn"),
        ("no", "no", "Latn"),
        ("zh", "zh", "Hans"),
        ("khm_Khmr", "km", "Khmr"),
        ("ewe", "ee", "Latn"),
    ],
)
def test_a_key_is_read_as_a_tag_and_a_script(key: str, tag: str, script: str) -> None:
    language = resolve(key)
    assert (language.key, language.tag, language.script) == (key, tag, script)


def test_flores_keys_are_49_languages(data_folder) -> None:
    keys = [path.stem for path in (data_folder / "corpora/flores200").glob("*.parquet")]
    assert len(resolve_all(dict.fromkeys(keys))) == 49


@pytest.mark.parametrize("key", ["on", "y", "True", "eng_Xxxx", ""])
def test_a_key_that_is_no_language_asks_for_a_tag(key: str) -> None:
    with pytest.raises(UsageError, match=r"is not a language code.*tag"):
        resolve(key)


def test_a_tag_gives_any_key_a_meaning() -> None:
    assert resolve("old spelling", tag="de-1901").tag == "de-1901"


def test_a_wrong_tag_is_named() -> None:
    with pytest.raises(UsageError, match="tag 'xx' is not"):
        resolve("mine", tag="xx")


def test_two_spellings_of_one_tag_are_an_error() -> None:
    with pytest.raises(
        UsageError, match=r"'zho_Hans' and 'zh-Hans' are the same language \(cmn-Hans\)"
    ):
        resolve_all({"zho_Hans": None, "zh-Hans": None})


def test_code_is_named_by_pygments_and_has_neither_tag_nor_script() -> None:
    for key in ("python", "cpp", "javascript", "objective-c", "c#"):
        language = resolve(key, kind="code")
        assert (language.tag, language.script, language.kind) == (None, None, "code")


def test_a_misspelt_programming_language_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'python'"):
        resolve("pyhton", kind="code")


def test_two_aliases_of_one_lexer_are_an_error() -> None:
    with pytest.raises(UsageError, match="'js' and 'javascript' are the same language"):
        resolve_all({"js": None, "javascript": None}, kind="code")


def test_a_programming_language_among_natural_ones_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="kind: code"):
        resolve("python")


def test_a_language_written_by_its_name_is_answered_with_its_code() -> None:
    for name, code in (("swahili", "sw"), ("english", "en"), ("Deutsch", "de")):
        answer = f"'{name}' is not a language code; did you mean '{code}'"
        with pytest.raises(UsageError, match=answer):
            resolve(name)


ONE = [
    ("cmn_Hans", "zho_Hans"),
    ("no", "nb"),
    ("ar", "arb_Arab"),
    ("zh-CN", "zh_Hans"),
    ("fa", "pes"),
    ("et", "ekk"),
    ("zh-TW", "zho_Hant"),
    ("en", "en-GB"),
    ("iw", "heb_Hebr"),
    ("nob_Latn", "no-NO"),
    ("ms", "zsm_Latn"),
    ("swh_Latn", "sw"),
    ("az", "azj_Latn"),
    ("mn", "khk_Cyrl"),
]
TWO = [
    ("arb", "arz"),
    ("ar", "arz"),
    ("cmn", "yue"),
    ("nb", "nn"),
    ("pes", "prs"),
    ("en-GB", "en-US"),
    ("zh-TW", "zh-HK"),
    ("zh_Hans", "zh_Hant"),
    ("sr", "sr-Latn"),
    ("ca", "ca-valencia"),
    ("apc_Arab", "ajp_Arab"),
    ("az", "azb_Arab"),
    ("ku", "ckb"),
    ("aka_Latn", "twi_Latn"),
]


@pytest.mark.parametrize(("first", "second"), ONE)
def test_two_keys_of_one_language_are_an_error(first: str, second: str) -> None:
    with pytest.raises(
        UsageError, match=f"languages '{first}' and '{second}' are the same language"
    ):
        resolve_all({first: None, second: None})


@pytest.mark.parametrize(("first", "second"), TWO)
def test_two_languages_of_one_family_or_two_regions_are_two(first: str, second: str) -> None:
    assert set(resolve_all({first: None, second: None})) == {first, second}


def test_an_explicit_tag_decides_whether_two_keys_are_one_language() -> None:
    assert resolve_all({"zh": None, "cmn": "yue"})
    with pytest.raises(UsageError, match="'fr' and 'mine' are the same language"):
        resolve_all({"fr": None, "mine": "fra-Latn"})


FLORES_200 = [
    "ace_Arab",
    "ace_Latn",
    "acm_Arab",
    "acq_Arab",
    "aeb_Arab",
    "afr_Latn",
    "ajp_Arab",
    "aka_Latn",
    "als_Latn",
    "amh_Ethi",
    "apc_Arab",
    "arb_Arab",
    "arb_Latn",
    "ars_Arab",
    "ary_Arab",
    "arz_Arab",
    "asm_Beng",
    "ast_Latn",
    "awa_Deva",
    "ayr_Latn",
    "azb_Arab",
    "azj_Latn",
    "bak_Cyrl",
    "bam_Latn",
    "ban_Latn",
    "bel_Cyrl",
    "bem_Latn",
    "ben_Beng",
    "bho_Deva",
    "bjn_Arab",
    "bjn_Latn",
    "bod_Tibt",
    "bos_Latn",
    "bug_Latn",
    "bul_Cyrl",
    "cat_Latn",
    "ceb_Latn",
    "ces_Latn",
    "cjk_Latn",
    "ckb_Arab",
    "crh_Latn",
    "cym_Latn",
    "dan_Latn",
    "deu_Latn",
    "dik_Latn",
    "dyu_Latn",
    "dzo_Tibt",
    "ell_Grek",
    "eng_Latn",
    "epo_Latn",
    "est_Latn",
    "eus_Latn",
    "ewe_Latn",
    "fao_Latn",
    "fij_Latn",
    "fin_Latn",
    "fon_Latn",
    "fra_Latn",
    "fur_Latn",
    "fuv_Latn",
    "gaz_Latn",
    "gla_Latn",
    "gle_Latn",
    "glg_Latn",
    "grn_Latn",
    "guj_Gujr",
    "hat_Latn",
    "hau_Latn",
    "heb_Hebr",
    "hin_Deva",
    "hne_Deva",
    "hrv_Latn",
    "hun_Latn",
    "hye_Armn",
    "ibo_Latn",
    "ilo_Latn",
    "ind_Latn",
    "isl_Latn",
    "ita_Latn",
    "jav_Latn",
    "jpn_Jpan",
    "kab_Latn",
    "kac_Latn",
    "kam_Latn",
    "kan_Knda",
    "kas_Arab",
    "kas_Deva",
    "kat_Geor",
    "kaz_Cyrl",
    "kbp_Latn",
    "kea_Latn",
    "khk_Cyrl",
    "khm_Khmr",
    "kik_Latn",
    "kin_Latn",
    "kir_Cyrl",
    "kmb_Latn",
    "kmr_Latn",
    "knc_Arab",
    "knc_Latn",
    "kon_Latn",
    "kor_Hang",
    "lao_Laoo",
    "lij_Latn",
    "lim_Latn",
    "lin_Latn",
    "lit_Latn",
    "lmo_Latn",
    "ltg_Latn",
    "ltz_Latn",
    "lua_Latn",
    "lug_Latn",
    "luo_Latn",
    "lus_Latn",
    "lvs_Latn",
    "mag_Deva",
    "mai_Deva",
    "mal_Mlym",
    "mar_Deva",
    "min_Arab",
    "min_Latn",
    "mkd_Cyrl",
    "mlt_Latn",
    "mni_Beng",
    "mos_Latn",
    "mri_Latn",
    "mya_Mymr",
    "nld_Latn",
    "nno_Latn",
    "nob_Latn",
    "npi_Deva",
    "nso_Latn",
    "nus_Latn",
    "nya_Latn",
    "oci_Latn",
    "ory_Orya",
    "pag_Latn",
    "pan_Guru",
    "pap_Latn",
    "pbt_Arab",
    "pes_Arab",
    "plt_Latn",
    "pol_Latn",
    "por_Latn",
    "prs_Arab",
    "quy_Latn",
    "ron_Latn",
    "run_Latn",
    "rus_Cyrl",
    "sag_Latn",
    "san_Deva",
    "sat_Olck",
    "scn_Latn",
    "shn_Mymr",
    "sin_Sinh",
    "slk_Latn",
    "slv_Latn",
    "smo_Latn",
    "sna_Latn",
    "snd_Arab",
    "som_Latn",
    "sot_Latn",
    "spa_Latn",
    "srd_Latn",
    "srp_Cyrl",
    "ssw_Latn",
    "sun_Latn",
    "swe_Latn",
    "swh_Latn",
    "szl_Latn",
    "tam_Taml",
    "taq_Latn",
    "taq_Tfng",
    "tat_Cyrl",
    "tel_Telu",
    "tgk_Cyrl",
    "tgl_Latn",
    "tha_Thai",
    "tir_Ethi",
    "tpi_Latn",
    "tsn_Latn",
    "tso_Latn",
    "tuk_Latn",
    "tum_Latn",
    "tur_Latn",
    "twi_Latn",
    "tzm_Tfng",
    "uig_Arab",
    "ukr_Cyrl",
    "umb_Latn",
    "urd_Arab",
    "uzn_Latn",
    "vec_Latn",
    "vie_Latn",
    "war_Latn",
    "wol_Latn",
    "xho_Latn",
    "ydd_Hebr",
    "yor_Latn",
    "yue_Hant",
    "zho_Hans",
    "zho_Hant",
    "zsm_Latn",
    "zul_Latn",
]


def test_no_two_codes_of_flores_200_are_one_language() -> None:
    assert len(FLORES_200) == 204
    assert len(resolve_all(dict.fromkeys(FLORES_200))) == 204
