// Totals whose lanes are finished part by part: they wait for their turn in a queue, and a part leaves by a register.
// The issue keeps a place for every row: it never overflows.

`default_nettype none

module array_unit_parts #(
  parameter int unsigned SumBits         = 28,
  parameter int unsigned Finished        = 4,     // lanes of a part
  parameter int unsigned QueueWords      = 32,
  parameter bit          Softmax         = 1'b0,  // attention with scores
  parameter int unsigned DenominatorBits = 16,    // of a row's sum of coefficients
  localparam int unsigned Parts = array_pkg::Lanes / Finished,
  localparam int unsigned PartBits = $clog2(Parts)
) (
  input  wire                                      clk_i,
  input  wire                                      rst_i,
  input  wire                                      start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t             d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                      valid_i,
  input  wire  [array_pkg::Lanes-1:0][SumBits-1:0] total_i,
  /* verilator lint_off UNUSEDSIGNAL */  // without attention nothing is divided
  input  wire  [DenominatorBits-1:0]               divisor_i,  // a cycle behind the total
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                     valid_o,
  output logic [Finished-1:0][SumBits-1:0]         lanes_o,
  output logic [array_pkg::TileBits-1:0]           tile_o,     // the word of the row that they belong to
  output logic [PartBits-1:0]                      part_o,     // and their part of it
  output logic [DenominatorBits-1:0]               divisor_o   // a cycle behind the lanes
);
  import array_pkg::*;
  localparam int unsigned QueueBits = $clog2(QueueWords);
  (* ram_style = "distributed" *) logic [Lanes*SumBits-1:0] totals[QueueWords];
  logic [Parts-1:0][Finished-1:0][SumBits-1:0] oldest;
  logic [QueueBits-1:0] to_q, from_q;
  logic [QueueBits:0] waiting_q;
  logic [TileBits-1:0] at_q;
  logic [PartBits-1:0] part_q;
  logic waits, done;
  logic [TileBits-1:0] last_tile_q;  // a fact of the descriptor, which is there before it begins
  assign oldest = totals[from_q];
  assign waits  = waiting_q != '0;
  assign done   = waits && 32'(part_q) == Parts - 1;
  always_ff @(posedge clk_i) begin
    lanes_o <= oldest[part_q];
    valid_o <= waits && !rst_i;
    tile_o  <= at_q;
    part_o  <= part_q;
    if (valid_i) totals[to_q] <= total_i;
    if (valid_i) to_q <= to_q + 1'b1;
    if (done) from_q <= from_q + 1'b1;
    last_tile_q <= d_i.tiles - 1'b1;
    if (done) at_q <= (at_q == last_tile_q) ? '0 : at_q + 1'b1;
    if (waits) part_q <= part_q + 1'b1;
    waiting_q <= waiting_q + (QueueBits + 1)'(valid_i) - (QueueBits + 1)'(done);
    if (start_i) at_q <= '0;
    if (rst_i) begin
      to_q      <= '0;
      from_q    <= '0;
      part_q    <= '0;
      waiting_q <= '0;
    end
  end
  if (Softmax) begin : gen_divisors
    (* ram_style = "distributed" *) logic [DenominatorBits-1:0] divisors[QueueWords];
    logic [QueueBits-1:0] divisor_to_q, divisor_from_q;
    logic divisor_valid_q;
    always_ff @(posedge clk_i) begin
      divisor_o <= divisors[divisor_from_q];
      if (divisor_valid_q) divisors[divisor_to_q] <= divisor_i;
      divisor_valid_q <= valid_i && !rst_i;
      divisor_to_q    <= to_q;
      divisor_from_q  <= from_q;
    end
  end else begin : gen_no_divisors
    assign divisor_o = '0;
  end
endmodule

`default_nettype wire
