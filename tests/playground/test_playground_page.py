"""What a reader does with the playground, by mouse, finger and keys, and what it looks like."""

import math
import re
import time
from pathlib import Path

import numpy as np
import pytest

from chromium import thorough, wait

WIDTHS = (360, 800, 1280)


def at(page, side, x, y):
    """Where a place of the plane is in the window."""
    box = page.locator("#plane .cloud").nth(side).bounding_box()
    half = page.evaluate("spos.window()[2]")
    centre = page.evaluate("spos.window()")
    unit = (box["width"] - 2) / (2 * half)  # without the border
    return (
        box["x"] + 1 + (x - centre[0] + half) * unit,
        box["y"] + 1 + (centre[1] + half - y) * unit,
    )


def clouds(page):
    return np.asarray(page.evaluate("spos.particles()"))


def setting(page, name):
    return page.evaluate("spos.settings()")[name]


def test_it_plays_at_once_and_pauses_steps_and_resets(visit):
    page = visit("")
    wait(page, "spos.number() > 2")
    page.get_by_role("button", name="Pause").click()
    number = page.evaluate("spos.number()")
    page.get_by_role("button", name="Step").click()
    assert page.evaluate("spos.number()") == number + 1
    shown = f"document.querySelector('#number').innerText === '{number + 1} steps'"
    wait(page, shown)  # words are written with the next frame
    assert not np.array_equal(*clouds(page))
    page.get_by_role("button", name="Reset").click()
    assert page.evaluate("spos.number()") == 0
    np.testing.assert_array_equal(*clouds(page))  # the same start


@thorough
def test_who_asked_for_less_motion_is_not_shown_any(visit):
    page = visit("", reduced_motion="reduce")
    page.wait_for_timeout(200)
    assert page.evaluate("spos.number()") == 0


@thorough
def test_a_run_can_be_repeated_with_its_seed(visit):
    page = visit("#at=15")
    first = clouds(page)
    page.keyboard.press("r")
    for _ in range(15):
        page.keyboard.press(".")
    np.testing.assert_array_equal(clouds(page), first)
    page.keyboard.press("n")
    assert setting(page, "seed") == 2
    assert not np.array_equal(clouds(page), first)


@thorough
@pytest.mark.parametrize(
    ("slider", "name"),
    [("#beta", "beta"), ("#step-size", "step"), ("#count", "count"), ("#bandwidth", "bandwidth")],
)
def test_a_slider_is_dragged(slider, name, visit):
    page = visit()
    before = setting(page, name)
    box = page.locator(slider).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.5 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], middle, steps=4)
    page.mouse.up()
    after = setting(page, name)
    assert after > before
    shown = page.locator(f"label:has({slider}) output").inner_text()
    assert float(shown) == after
    if name == "count":
        assert clouds(page).shape == (2, after, 2)
    if name == "bandwidth":
        assert setting(page, "rule") == "fixed"
        assert page.evaluate("spos.forces(0).eta2") == after
    page.locator(slider).press("Home")
    assert setting(page, name) < before


@thorough
def test_the_speed_is_that_of_the_slider(visit):
    page = visit()
    page.locator("#speed").press("End")
    assert setting(page, "speed") == 4
    page.locator("#speed").press("Home")
    assert "3.75 steps a second" in page.locator("label:has(#speed)").inner_text()


@thorough
def test_a_click_places_a_particle_in_both_clouds(visit):
    page = visit()
    page.mouse.click(*at(page, 1, 2.5, 2.5))
    left, right = clouds(page)
    assert len(left) == len(right) == 101
    np.testing.assert_allclose(left[-1], [2.5, 2.5], atol=0.02)
    np.testing.assert_array_equal(left[-1], right[-1])
    page.get_by_role("button", name="Step").click()
    page.get_by_role("button", name="Reset").click()
    np.testing.assert_array_equal(clouds(page)[0][-1], left[-1])  # it belongs to the start


@thorough
def test_a_particle_is_dragged_in_both_clouds(visit):
    page = visit()
    page.evaluate("spos.setParticles([[0, 0], [1, 1], [-2, 1]])")
    page.mouse.move(*at(page, 0, 1.0, 1.0))
    page.mouse.down()
    page.mouse.move(*at(page, 0, 2.0, -2.0), steps=5)
    page.mouse.up()
    for cloud in clouds(page):
        np.testing.assert_allclose(cloud, [[0, 0], [2, -2], [-2, 1]], atol=0.03)


@thorough
def test_a_finger_places_and_the_keys_move_a_particle(visit):
    page = visit(has_touch=True, viewport={"width": 360, "height": 740})
    page.evaluate("spos.setParticles([[0, 0], [-2, 1]])")
    page.touchscreen.tap(*at(page, 0, 2.5, 2.5))
    assert clouds(page).shape == (2, 3, 2)
    page.locator("#plane .cloud").first.focus()
    page.keyboard.press("]")  # from the new one around to the first
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    moved = clouds(page)[0][0]
    assert (moved > 0.05).all()
    page.keyboard.press("Enter")
    assert clouds(page).shape == (2, 4, 2)
    page.keyboard.press(" ")
    wait(page, "spos.number() > 0")


def test_forces_on_a_particle_add_up_to_its_step(visit):
    page = visit("#at=5&left=blob&beta=2")
    for side in (0, 1):
        before, forces = clouds(page)[side], page.evaluate("(n) => spos.forces(n)", side)
        h = setting(page, "step")
        drift = sum(np.asarray(forces[name]) for name in ("own", "others", "push"))
        jump = np.asarray(forces["jump"]) if forces["jump"] else 0.0
        page.keyboard.press(".")
        moved = before + h * drift + math.sqrt(h) * jump
        np.testing.assert_allclose(clouds(page)[side], moved, atol=1e-12)


def stroke(page, *points):
    page.mouse.move(*at(page, 0, *points[0]))
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*at(page, 0, *point), steps=8)
    page.mouse.up()


@thorough
def test_a_density_is_drawn_and_sampled(visit):
    page = visit()
    page.locator("#target").select_option("drawn")
    page.get_by_role("button", name="Clear").click()
    assert page.evaluate("spos.ink()") == []
    stroke(page, (-3.0, 2.0), (-1.0, 2.0))
    stroke(page, (1.0, -2.0), (3.0, -2.0))
    assert clouds(page).shape == (2, 100, 2)  # the pen places nothing
    on, off = page.evaluate("spos.logDensity([[-2, 2], [0, 0]])")
    assert on - off > 4
    shares = page.evaluate("spos.measure().shares")
    assert shares == pytest.approx([0.5, 0.5], abs=0.1)
    page.evaluate("spos.set({ left: 'sgld', start: 'spread' })")
    page.evaluate("for (let n = 0; n < 300; n++) spos.step()")
    inked = np.abs(np.abs(clouds(page)[0][:, 1]) - 2.0) < 1.2
    assert inked.mean() > 0.9


def reopened(page, visit):
    wait(page, "location.hash.length > 1")
    page.evaluate("spos.pause()")
    page.get_by_role("button", name="Share").click()
    return visit(page.evaluate("location.hash"))


def test_an_address_brings_the_picture_back(visit):
    page = visit("#at=30&target=U1&left=gfsf&right=birth_death&count=40&step=0.05&seed=7")
    other = reopened(page, visit)
    assert "cloud" not in other.evaluate("location.hash")  # it is repeated
    np.testing.assert_array_equal(clouds(other), clouds(page))
    assert other.evaluate("spos.settings()") == page.evaluate("spos.settings()")
    assert other.evaluate("spos.number()") == 30


@thorough
def test_an_address_brings_back_what_was_done_by_hand(visit):
    page = visit("#at=5&target=drawn&count=20")
    stroke(page, (-3.0, -3.0), (3.0, -3.0))
    page.locator("#pen").uncheck()
    page.mouse.click(*at(page, 0, 3.0, 3.0))
    other = reopened(page, visit)
    assert clouds(other).shape == (2, 21, 2)
    np.testing.assert_allclose(clouds(other), clouds(page), atol=1e-3)
    assert other.evaluate("spos.ink()") == page.evaluate("spos.ink()")
    assert other.evaluate("spos.number()") == 5


@thorough
def test_a_changed_address_is_followed(visit):
    page = visit("#at=3")
    page.evaluate("location.hash = '#at=4&target=ring&left=sgld'")
    wait(page, "spos.number() === 4")
    assert setting(page, "target") == "ring"
    assert page.locator("#target").input_value() == "ring"


@thorough
def test_a_broken_address_is_harmless(visit):
    page = visit(
        "#at=-3&target=__proto__&left=<b>&beta=abc&step=1e99&count=2.5&seed=-1&cloud=%%%"
        "&ink=A&theme=pink&view=3&bandwidth="
    )
    settings = page.evaluate("spos.settings()")
    assert settings["target"] == "three"
    assert settings["step"] == 1  # as near as there is
    assert settings["count"] == 100
    assert settings["left"] == "svgd"


@thorough
def test_a_step_that_is_too_large_is_said(visit):
    page = visit("#at=0&target=U3&left=svgd&right=sgld&step=1&start=spread")
    page.evaluate("for (let n = 0; n < 60; n++) spos.step()")
    page.evaluate("spos.set({ left: 'gfsf', target: 'banana', step: 1 })")
    page.evaluate("for (let n = 0; n < 60; n++) spos.step()")
    wait(page, "document.querySelector('#words').textContent.includes('flown apart')")


@thorough
def test_the_second_view_is_dragged_through_the_dimensions(visit):
    page = visit("#view=dimension&dimension=3")
    words = page.locator("#dimension-words")
    wait(page, "document.querySelector('#dimension-words').textContent.includes('In 3 dim')")
    box = page.locator("#dimension-slider").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.1 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.62 * box["width"], middle, steps=3)
    page.mouse.up()
    dimension = setting(page, "dimension")
    assert 20 < dimension < 60
    settled = f"In {dimension} dimensions, SVGD"
    wait(page, f"document.querySelector('#dimension-words').textContent.includes('{settled}')")
    svgd, spos = (int(n) for n in re.findall(r"(\d+) %", words.inner_text()))
    assert svgd < 20
    assert 85 < spos < 115


@thorough
def test_light_and_dark(visit):
    for scheme, button in (("light", "Dark"), ("dark", "Light")):
        page = visit(color_scheme=scheme)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        page.get_by_role("button", name=button).click()
        assert page.evaluate("document.documentElement.dataset.theme") == button.lower()
        wait(page, f"location.hash.includes('theme={button.lower()}')")


def test_it_can_be_read_without_being_seen(visit):
    page = visit("#at=20")
    words = page.locator("#words")
    assert words.get_attribute("aria-live") == "polite"
    assert re.match(
        r"After 20 steps of 0.03 with 100 particles on “three modes”: SVGD has "
        r"variance [\d.]+, shares of \d+ %, \d+ %, \d+ % .* SPOS has variance [\d.]+",
        words.inner_text(),
    )
    unnamed = page.evaluate("""() => [...document.querySelectorAll("input, select, button, canvas")]
      .filter((one) => one.offsetParent && !one.closest("[aria-hidden]"))
      .filter((one) => !(one.labels?.length || one.getAttribute("aria-label") || one.textContent))
      .map((one) => one.outerHTML)""")
    assert unnamed == []


@thorough
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("address", ["#at=60&target=U1", "#view=dimension"])
def test_it_fits_every_screen(width, address, visit, tmp_path):
    page = visit(address, viewport={"width": width, "height": 800})
    wait(page, "document.querySelector('.words:not(:empty)')")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        wait(page, f"document.documentElement.dataset.theme === '{scheme}'")
        picture = page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
        assert len(picture) > 20_000  # an empty page has a tenth of that
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    painted = page.evaluate("""() => [...document.querySelectorAll("canvas")]
      .filter((one) => one.offsetParent)
      .map((one) => new Set(one.getContext("2d")
        .getImageData(0, 0, one.width, one.height).data).size)""")
    assert min(painted) > 10  # different values of red, green, blue: something is there
    small = page.evaluate("""() => [...document.querySelectorAll("button, select, input")]
      .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 16)
      .map((one) => one.id)""")
    assert small == []


FRAMES = """(milliseconds) => new Promise((done) => {
  let frames = 0;
  const began = performance.now(), steps = spos.number();
  requestAnimationFrame(function frame() {
    frames += 1;
    const seconds = (performance.now() - began) / 1000;
    if (1000 * seconds < milliseconds) requestAnimationFrame(frame);
    else done([frames / seconds, (spos.number() - steps) / seconds]);
  });
})"""


def idle_share():
    """Of the processor's time in the next second; 0 where Linux does not say it."""

    def times():
        try:
            first, _, _ = Path("/proc/stat").read_text().partition("\n")
        except OSError:
            return np.array([0, 0, 0, 0, 1])
        return np.array(first.split()[1:], float)

    before = times()
    time.sleep(1)
    passed = times() - before
    return passed[3] / max(passed.sum(), 1)


@thorough
@pytest.mark.parametrize(
    "methods", ["count=300&left=svgd&right=spos", "count=200&left=gfsf&right=noisy_svgd"]
)
def test_particles_move_60_times_a_second(methods, visit):
    """At 60 steps a second, as it begins; five per cent are for the clocks. Two methods factor a
    matrix of all pairs, whose time grows with the cube of the number."""
    if idle_share() < 0.75:
        pytest.skip("the machine is busy: a rate of frames would say nothing")
    page = visit(f"#{methods}")
    wait(page, "spos.number() > 30")
    # the best of several, since other work on the machine can only disturb
    frames, steps = np.max([page.evaluate(FRAMES, 1500) for _ in range(6)], axis=0)
    assert frames > 57
    assert steps > 57
