// Writes a region in bursts that never cross 4 KiB. A beat leaves as soon as it arrives, once its burst's address is
// presented: a subordinate may wait for data before it accepts the address. `flush_i` ends a region whose data will not
// come: the remaining beats go out with no byte enabled.

`default_nettype none

module fgnas_writer (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,  // a region of at least one beat begins
  input  wire                                flush_i,
  /* verilator lint_off UNUSEDSIGNAL */  // the low bits are zero: regions are 16-byte aligned
  input  wire  [fgnas_pkg::AddressBits-1:0]  address_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire  [fgnas_pkg::RegisterBits-1:0] beats_i,
  // a cycle after the last response; refers to a new region from the next cycle
  output logic                               done_o,
  output logic                               error_o,
  input  wire                                valid_i,
  output logic                               ready_o,
  input  wire  [fgnas_pkg::BeatBits-1:0]     beat_i,
  output logic [fgnas_pkg::AddressBits-1:0]  awaddr_o,
  output logic [7:0]                         awlen_o,
  output logic                               awvalid_o,
  input  wire                                awready_i,
  output logic [fgnas_pkg::BeatBits-1:0]     wdata_o,
  output logic [fgnas_pkg::BeatBytes-1:0]    wstrb_o,
  output logic                               wlast_o,
  output logic                               wvalid_o,
  input  wire                                wready_i,
  input  wire  [1:0]                         bresp_i,
  input  wire                                bvalid_i,
  output logic                               bready_o
);
  localparam int unsigned AlignBits = fgnas_pkg::AlignBits;
  localparam int unsigned BeatAddressBits = fgnas_pkg::AddressBits - AlignBits;
  localparam int unsigned PageBeats = 4096 / fgnas_pkg::BeatBytes;  // of 4 KiB, and of the longest burst
  localparam int unsigned PlaceBits = $clog2(PageBeats);            // of a beat in its page
  localparam int unsigned BurstBits = PlaceBits + 1;

  logic [BeatAddressBits-1:0] address_q;  // of the next burst, in beats
  // Beats without an address, before the front burst and after it.
  logic [fgnas_pkg::RegisterBits-1:0] left_q, rest;
  logic [fgnas_pkg::RegisterBits-1:0] data_left_q;  // beats not yet accepted
  logic asking_q, taking_q;       // whether there are any of either
  logic final_q;                  // the region's last beat is the next to be accepted
  logic [PlaceBits-1:0] place_q;  // place of the next beat in its page
  logic presented_q;              // the front burst's address was presented in an earlier cycle
  logic [4:0] open_q;             // bursts whose address was presented and whose data are not complete
  logic any_open_q;
  logic [4:0] unanswered_q;       // bursts whose address was accepted and that have no response
  logic room_q;                   // room for one more of them
  logic [BurstBits-1:0] burst_q;  // beats of the front burst: to the end of its page, or of the region
  logic [BurstBits-1:0] to_page;  // beats from the region's start to the end of its page
  logic [PlaceBits-1:0] place;    // of the region's first beat
  logic beyond_page;              // the region ends there or later
  assign place       = address_i[AlignBits+:PlaceBits];
  assign to_page     = BurstBits'(PageBeats) - BurstBits'(place);
  assign beyond_page = (beats_i >> PlaceBits) != '0 ||
                       BurstBits'(place) + BurstBits'(beats_i[PlaceBits-1:0]) >= BurstBits'(PageBeats);
  assign rest        = left_q - (fgnas_pkg::RegisterBits)'(burst_q);
  assign awvalid_o   = asking_q && room_q;
  assign awaddr_o    = {address_q, AlignBits'(0)};
  assign awlen_o     = 8'(burst_q - 1'b1);
  assign bready_o    = 1'b1;

  logic present, asked, take, last, closed;
  assign present = awvalid_o && !presented_q;
  assign asked   = awvalid_o && awready_i;
  assign last    = (place_q == PlaceBits'(PageBeats - 1)) || final_q;
  assign ready_o = any_open_q && taking_q && (!wvalid_o || wready_i);
  assign take    = ready_o && (valid_i || flush_i);
  assign closed  = take && last;

  always_ff @(posedge clk_i) begin
    if (asked) begin
      // Only the last burst ends within a page.
      address_q <= {address_q[BeatAddressBits-1:PlaceBits] + 1'b1, PlaceBits'(0)};
      left_q    <= rest;
      burst_q   <= ((rest >> PlaceBits) != '0) ? BurstBits'(PageBeats) : BurstBits'(rest[PlaceBits-1:0]);
      asking_q  <= rest != '0;
    end
    if (take) begin
      wdata_o     <= beat_i;
      wstrb_o     <= valid_i && !flush_i ? '1 : '0;
      wlast_o     <= last;
      place_q     <= place_q + 1'b1;
      data_left_q <= data_left_q - 1'b1;
      taking_q    <= !final_q;
      final_q     <= data_left_q == 32'd2;
    end
    wvalid_o    <= take || (wvalid_o && !wready_i);
    presented_q <= awvalid_o && !awready_i;
    // Selected, not added, because the bus signals arrive late.
    if (present != closed) open_q <= present ? open_q + 1'b1 : open_q - 1'b1;
    any_open_q <= present || (open_q >> 1) != '0 || (open_q[0] && !closed);
    if (asked != bvalid_i) unanswered_q <= asked ? unanswered_q + 1'b1 : unanswered_q - 1'b1;
    room_q  <= bvalid_i || !(&unanswered_q[4:1]) || (!unanswered_q[0] && !asked);
    error_o <= bvalid_i && (bresp_i != 2'b00);
    done_o  <= !start_i && !asking_q && !taking_q && (unanswered_q == '0) && !wvalid_o;
    if (start_i) begin
      address_q   <= address_i[fgnas_pkg::AddressBits-1:AlignBits];
      burst_q     <= beyond_page ? to_page : BurstBits'(beats_i[PlaceBits-1:0]);
      place_q     <= place;
      left_q      <= beats_i;
      data_left_q <= beats_i;
      asking_q    <= 1'b1;
      taking_q    <= 1'b1;
      final_q     <= beats_i == 32'd1;
    end
    if (rst_i) begin
      asking_q     <= 1'b0;
      taking_q     <= 1'b0;
      presented_q  <= 1'b0;
      open_q       <= '0;
      any_open_q   <= 1'b0;
      unanswered_q <= '0;
      room_q       <= 1'b1;
      wvalid_o     <= 1'b0;
      error_o      <= 1'b0;
    end
  end
endmodule

`default_nettype wire
