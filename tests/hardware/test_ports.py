"""The kernel's ports as data: complete buses, the register words on the control port, and regions on their managers."""

from fgnas.hardware import ports, wire
from fgnas.hardware.array import programme


def test_names_are_those_of_vitis() -> None:
    names = [port.name for port in ports.PORTS]
    assert len(set(names)) == len(names) == 2 + 2 * 45 + 17 + 1
    for port in ports.PORTS:
        assert port.name == (f"{port.interface}_{port.signal}" if port.interface else port.signal or port.name)


def test_valid_and_ready_run_in_opposite_directions() -> None:
    driven = {port.name: port.output for port in ports.PORTS}
    for bus in (ports.READ, ports.WRITE, ports.CONTROL):
        for channel in ("AW", "W", "B", "AR", "R"):
            assert driven[f"{bus}_{channel}VALID"] != driven[f"{bus}_{channel}READY"]
            manager_sends = channel in ("AW", "W", "AR")
            assert driven[f"{bus}_{channel}VALID"] == (manager_sends == (bus != ports.CONTROL))


def test_widths() -> None:
    bits = {port.name: port.bits for port in ports.PORTS}
    assert bits[f"{ports.READ}_RDATA"] == bits[f"{ports.WRITE}_WDATA"] == 8 * bits[f"{ports.WRITE}_WSTRB"] == 128
    assert bits[f"{ports.READ}_ARADDR"] == 64 and bits[f"{ports.CONTROL}_WDATA"] == 32
    last = wire.ARGUMENT_REGISTERS[-1]
    assert 2 ** bits[f"{ports.CONTROL}_AWADDR"] >= last.offset + last.bits // 8 + 4 > 2 ** 6
    assert {port.name for port in ports.PORTS if port.bits is None and not port.interface} == {
        "ap_clk", "ap_rst_n", "interrupt",
    }  # fmt: skip


def test_ranges() -> None:
    port = next(port for port in ports.PORTS if port.name == f"{ports.CONTROL}_ARADDR")
    assert (port.range(), port.range(named=False)) == ("[fgnas_pkg::RegisterAddressBits-1:0]", "[6:0]")


def test_every_region_is_on_the_manager_of_its_direction() -> None:
    found = {register.name: ports.manager_of(register) for register in programme.ARGUMENT_REGISTERS}
    read = dict.fromkeys(("programme", "parameters", "features", "edges"), ports.READ)
    assert found == {"descriptors": "", **read, "logits": ports.WRITE, "check": "", "status": ""}
    assert [manager.mode for manager in ports.MANAGERS] == ["READ_ONLY", "WRITE_ONLY"]


def test_a_burst_fills_a_page() -> None:
    assert [ports.longest_burst(bits) for bits in programme.PORT_WIDTHS] == [256, 128, 64]
