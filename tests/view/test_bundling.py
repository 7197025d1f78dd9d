"""The page's modules as one script."""

import shutil
import subprocess

import pytest

from innervoice.errors import UsageError
from innervoice.view.export import asset, bundled, names

NODE = shutil.which("node")


def bundle(**modules):
    return bundled("main", lambda name: modules[name.removesuffix(".js")])


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_it_does_what_the_modules_do():
    script = bundle(
        main='import "./first.js";\nimport { add, Box as Case } from "./sums.js";\nimport * as sums from "./sums.js";\nconst hidden = 3;\nconsole.log(add(hidden, 4), new Case().it, sums.ONE, Object.keys(sums).join());\n',
        sums='import { twice } from "./deep.js";\nexport const ONE = 1;\nconst hidden = 0;\nexport function add(a, b) {\n  return a + b + hidden;\n}\nexport class Box {\n  it = twice(4);\n}\nexport async function later() {}\nexport function* many() {}\n',
        deep='export function twice(x) {\n  return 2 * x;\n}\nconsole.log("deep runs once");\n',
        first='import { twice } from "./deep.js";\nconst hidden = twice(1);\nconsole.log("first", hidden);\n',
    )
    said = subprocess.run([NODE, "--input-type=module", "-e", script], capture_output=True, check=True, text=True)  # fmt: skip
    expected = ["deep runs once", "first 2", "7 8 1 ONE,add,Box,later,many"]
    assert expected == said.stdout.splitlines()


def test_nothing_is_imported_or_exported_any_more():
    script = bundle(main='import { a } from "./other.js";\na();', other="export const a = () => 1;")
    assert "import" not in script
    assert "export" not in script


def test_modules_run_once_and_what_they_need_before():
    script = bundle(
        main='import { b } from "./b.js";\nimport { c } from "./c.js";\nMAIN;',
        b='import { c } from "./c.js";\nexport const b = "B";',
        c='export const c = "C";',
    )
    assert 1 == script.count('"C"')
    assert script.index('"C"') < script.index('"B"') < script.index("MAIN")


@pytest.mark.parametrize(
    "line",
    [
        'import a from "./a.js";',
        'import { a } from "https://elsewhere.example/a.js";',
        'import { a } from "../a.js";',
        "import { a,",
        "export default 1;",
        "export let a = 1;",
        "export { a };",
        'export * from "./a.js";',
    ],
)
def test_another_form_is_an_error(line):
    with pytest.raises(UsageError, match="line 2"):
        bundle(main=f"// first\n{line}\n", a="")


def test_a_call_of_import_is_no_statement():
    assert "import.meta.url" in bundle(main="import.meta.url;\n")


def test_modules_that_import_each_other_are_an_error():
    with pytest.raises(UsageError, match=r"main -> a -> main"):
        bundle(main='import { a } from "./a.js";', a='import { b } from "./main.js";')


def test_every_module_of_the_page_is_in_it():
    script = bundled("main", lambda name: asset(name).decode())
    modules = {name.removesuffix(".js") for name in names() if name.endswith(".js")}
    assert modules == {name for name in modules if f"const module_{name} = " in script}
