// numerator / denominator rounded to nearest, ties to even: a pipelined restoring divider, one result per cycle.
// The quotient's magnitude must fit in QuotientBits. Latency: QuotientBits + 3 cycles.

`default_nettype none

module fgnas_divider #(
  parameter int unsigned NumeratorBits   = 20,
  parameter int unsigned DenominatorBits = 9,
  parameter int unsigned QuotientBits    = 8
) (
  input  wire                               clk_i,
  input  wire  signed [NumeratorBits-1:0]   numerator_i,
  input  wire         [DenominatorBits-1:0] denominator_i,
  output logic signed [QuotientBits:0]      quotient_o
);
  // QuotientBits of the magnitude are shifted in below a remainder that starts smaller than the denominator.
  localparam int unsigned MagnitudeBits = QuotientBits + DenominatorBits;
  localparam int unsigned Widest = (NumeratorBits > MagnitudeBits) ? NumeratorBits : MagnitudeBits;

  logic                       negative_q  [QuotientBits+1];
  logic [DenominatorBits-1:0] divisor_q   [QuotientBits+1];
  logic [DenominatorBits-1:0] remainder_q [QuotientBits+1];
  logic [QuotientBits-1:0]    digits_q    [QuotientBits+1];  // numerator bits to come, followed by quotient bits

  logic signed [Widest-1:0] extended;
  /* verilator lint_off UNUSEDSIGNAL */  // the quotient fits by contract: bits above it are zero
  logic        [Widest-1:0] magnitude;
  /* verilator lint_on UNUSEDSIGNAL */
  assign extended  = Widest'(numerator_i);
  assign magnitude = numerator_i[NumeratorBits-1] ? -extended : extended;

  always_ff @(posedge clk_i) begin
    negative_q[0]  <= numerator_i[NumeratorBits-1];
    divisor_q[0]   <= denominator_i;
    remainder_q[0] <= magnitude[QuotientBits+:DenominatorBits];
    digits_q[0]    <= magnitude[QuotientBits-1:0];
  end

  for (genvar s = 0; s < QuotientBits; s++) begin : gen_digit
    logic [DenominatorBits:0] partial;
    logic [DenominatorBits:0] difference;
    logic                     digit;
    assign partial    = {remainder_q[s], digits_q[s][QuotientBits-1]};
    assign digit      = partial >= {1'b0, divisor_q[s]};
    assign difference = partial - (digit ? {1'b0, divisor_q[s]} : '0);
    always_ff @(posedge clk_i) begin
      negative_q[s+1]  <= negative_q[s];
      divisor_q[s+1]   <= divisor_q[s];
      remainder_q[s+1] <= difference[DenominatorBits-1:0];
      digits_q[s+1]    <= (digits_q[s] << 1) | QuotientBits'(digit);
    end
    /* verilator lint_off UNUSEDSIGNAL */
    logic unused;
    assign unused = difference[DenominatorBits];
    /* verilator lint_on UNUSEDSIGNAL */
  end

  // Rounding and the sign take one cycle each.
  logic [DenominatorBits:0]   twice;
  logic                       up_q, negative_r_q;
  logic [QuotientBits-1:0]    floor_q;
  logic signed [QuotientBits:0] rounded;
  assign twice = {remainder_q[QuotientBits], 1'b0};
  always_ff @(posedge clk_i) begin
    up_q <= (twice > {1'b0, divisor_q[QuotientBits]}) ||
            ((twice == {1'b0, divisor_q[QuotientBits]}) && digits_q[QuotientBits][0]);
    floor_q      <= digits_q[QuotientBits];
    negative_r_q <= negative_q[QuotientBits];
  end
  assign rounded = {1'b0, floor_q} + (QuotientBits + 1)'(up_q);
  always_ff @(posedge clk_i) quotient_o <= negative_r_q ? -rounded : rounded;
endmodule

`default_nettype wire
