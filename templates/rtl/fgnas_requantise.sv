// value / 2**Shift, rounded to nearest, ties to even, then saturated to OutBits. Combinational.
// A negative Shift multiplies, exactly. Example: Shift = 1: 3 -> 2, 5 -> 2, 7 -> 4, -3 -> -2.

`default_nettype none

module fgnas_requantise #(
  parameter int unsigned InBits  = 24,
  parameter int          Shift   = 8,
  parameter int unsigned OutBits = 8
) (
  input  wire  signed [InBits-1:0]  value_i,
  output logic signed [OutBits-1:0] value_o
);
  localparam int unsigned Left = (Shift < 0) ? -Shift : 0;
  localparam int unsigned Right = (Shift > 0) ? Shift : 0;
  // Wide enough for every shift, for the carry of the rounding, and for the comparison with the output's range.
  localparam int unsigned Needed = ((InBits > Right + 1) ? InBits : Right + 1) + Left + 1;
  localparam int unsigned Wide = (Needed > OutBits + 1) ? Needed : OutBits + 1;

  logic signed [Wide-1:0] shifted, rounded;
  logic                   up;

  if (Right == 0) begin : gen_left
    assign shifted = Wide'(value_i) <<< Left;
    assign up      = 1'b0;
  end else begin : gen_right
    logic signed [Wide-1:0] wide;
    logic                   half, rest;
    assign wide    = Wide'(value_i);
    assign shifted = wide >>> Right;
    assign half    = wide[Right-1];
    if (Right > 1) begin : gen_rest
      assign rest = |wide[Right-2:0];
    end else begin : gen_no_rest
      assign rest = 1'b0;
    end
    assign up = half && (rest || shifted[0]);
  end

  assign rounded = shifted + Wide'({1'b0, up});

  logic overflow;
  assign overflow = (|rounded[Wide-1:OutBits-1]) && !(&rounded[Wide-1:OutBits-1]);
  assign value_o  = overflow ? {rounded[Wide-1], {(OutBits - 1) {!rounded[Wide-1]}}} : rounded[OutBits-1:0];
endmodule

`default_nettype wire
