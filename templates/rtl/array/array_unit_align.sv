// A number shifted by one of the engine's shifts: to the right it is to be rounded to nearest, ties to even, by adding
// up_o. No cycle.

`default_nettype none

module array_unit_align #(
  parameter int unsigned YBits      = 29,
  parameter int unsigned Shifts     = 2,
  parameter logic signed [Shifts-1:0][7:0] ShiftBy = '0,  // to the right; negative ones to the left
  localparam int unsigned NumberBits = (Shifts > 1) ? $clog2(Shifts) : 1
) (
  input  wire  signed [YBits-1:0]    value_i,
  input  wire  [NumberBits-1:0]      number_i,  // of the shift
  output logic [YBits-1:0]           value_o,
  output logic                       up_o
);
  logic signed [Shifts-1:0][YBits-1:0] shifted;
  logic [Shifts-1:0] up;
  for (genvar s = 0; s < Shifts; s++) begin : gen_shift
    localparam int By = int'(signed'(ShiftBy[s]));
    localparam int unsigned Left = (By < 0) ? -By : 0;
    localparam int unsigned Right = (By > 0) ? By : 0;
    if (Right == 0) begin : gen_left
      assign shifted[s] = value_i <<< Left;
      assign up[s]      = 1'b0;
    end else begin : gen_right
      logic rest;
      assign rest       = (value_i & YBits'((64'd1 << (Right - 1)) - 64'd1)) != '0;
      assign shifted[s] = value_i >>> Right;
      assign up[s]      = value_i[Right-1] && (rest || shifted[s][0]);
    end
  end
  if (Shifts == 1) begin : gen_only
    assign value_o = shifted[0];
    assign up_o    = up[0];
  end else begin : gen_choice
    assign value_o = shifted[number_i];
    assign up_o    = up[number_i];
  end
endmodule

`default_nettype wire
