// Reads a region ahead of its consumer, in bursts that never cross 4 KiB. A burst is requested as soon as the buffer
// has room for the longest, so data are always accepted at once. While one 4 KiB half drains, the other fills.

`default_nettype none

module fgnas_reader #(
  parameter int unsigned BufferBeats = 512
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,    // a region begins; no burst may be outstanding
  input  wire                                cancel_i,   // request no more bursts
  /* verilator lint_off UNUSEDSIGNAL */  // the low bits are zero: regions are 16-byte aligned
  input  wire  [fgnas_pkg::AddressBits-1:0]  address_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire  [fgnas_pkg::RegisterBits-1:0] beats_i,
  output logic                               outstanding_o,
  output logic                               drained_o,  // every beat of the region was popped
  output logic                               error_o,
  output logic                               valid_o,    // in the cycle of start_i it refers to the previous region
  output logic [fgnas_pkg::BeatBits-1:0]     beat_o,
  input  wire                                pop_i,
  output logic [fgnas_pkg::AddressBits-1:0]  araddr_o,
  output logic [7:0]                         arlen_o,
  output logic                               arvalid_o,
  input  wire                                arready_i,
  input  wire  [fgnas_pkg::BeatBits-1:0]     rdata_i,
  input  wire  [1:0]                         rresp_i,
  input  wire                                rvalid_i,
  output logic                               rready_o
);
  localparam int unsigned AlignBits = fgnas_pkg::AlignBits;
  localparam int unsigned BeatAddressBits = fgnas_pkg::AddressBits - AlignBits;
  localparam int unsigned PageBeats = 4096 / fgnas_pkg::BeatBytes;  // of 4 KiB, and of the longest burst
  localparam int unsigned PlaceBits = $clog2(PageBeats);            // of a beat in its page
  localparam int unsigned BurstBits = PlaceBits + 1;
  localparam int unsigned CountBits = $clog2(BufferBeats) + 1;

  logic [BeatAddressBits-1:0] address_q;
  // Beats not yet requested, before the front burst and after it.
  logic [fgnas_pkg::RegisterBits-1:0] left_q, rest;
  logic asking_q;                // whether there are any
  logic [CountBits-1:0] reserved_q;     // requested but not popped
  logic [CountBits-1:0] outstanding_q;  // requested but not received
  logic [CountBits-1:0] burst_q;        // beats of the front burst: to the end of its page, or of the region
  logic [CountBits-1:0] to_page;        // beats from the region's start to the end of its page
  logic [PlaceBits-1:0] place;          // of the region's first beat in its page
  logic beyond_page;                    // the region ends there or later
  assign place         = address_i[AlignBits+:PlaceBits];
  assign to_page       = CountBits'(PageBeats) - CountBits'(place);
  assign beyond_page   = (beats_i >> PlaceBits) != '0 ||
                         BurstBits'(place) + BurstBits'(beats_i[PlaceBits-1:0]) >= BurstBits'(PageBeats);
  assign rest          = left_q - (fgnas_pkg::RegisterBits)'(burst_q);
  assign arvalid_o     = asking_q && (reserved_q <= CountBits'(BufferBeats - PageBeats));
  assign araddr_o      = {address_q, AlignBits'(0)};
  assign arlen_o       = 8'(burst_q - 1'b1);
  assign rready_o      = 1'b1;
  assign outstanding_o = (outstanding_q != '0) || arvalid_o;
  assign drained_o     = !asking_q && (reserved_q == '0);

  logic asked, arrived, popped_q;
  assign asked   = arvalid_o && arready_i;
  assign arrived = rvalid_i;
  always_ff @(posedge clk_i) begin
    popped_q      <= pop_i;  // counted a cycle later, because it is known late
    reserved_q    <= reserved_q + (asked ? burst_q : '0) - CountBits'(popped_q);
    outstanding_q <= outstanding_q + (asked ? burst_q : '0) - CountBits'(arrived);
    if (asked) begin
      // Only the last burst ends within a page.
      address_q <= {address_q[BeatAddressBits-1:PlaceBits] + 1'b1, PlaceBits'(0)};
      left_q    <= rest;
      burst_q   <= ((rest >> PlaceBits) != '0) ? CountBits'(PageBeats) : CountBits'(rest[PlaceBits-1:0]);
      asking_q  <= rest != '0;
    end
    if (cancel_i && (asked || !arvalid_o)) asking_q <= 1'b0;
    error_o <= arrived && (rresp_i != 2'b00);
    if (start_i) begin
      address_q  <= address_i[fgnas_pkg::AddressBits-1:AlignBits];
      burst_q    <= beyond_page ? to_page : CountBits'(beats_i[PlaceBits-1:0]);
      left_q     <= beats_i;
      asking_q   <= beats_i != '0;
      popped_q   <= 1'b0;
      reserved_q <= '0;
    end
    if (rst_i) begin
      asking_q      <= 1'b0;
      popped_q      <= 1'b0;
      reserved_q    <= '0;
      outstanding_q <= '0;
      error_o       <= 1'b0;
    end
  end

  fgnas_fifo #(.Depth(BufferBeats), .Width(fgnas_pkg::BeatBits)) u_buffer (
    .clk_i(clk_i), .rst_i(rst_i || start_i), .write_i(arrived), .data_i(rdata_i), .valid_o(valid_o), .data_o(beat_o),
    .pop_i(pop_i)
  );
endmodule

`default_nettype wire
