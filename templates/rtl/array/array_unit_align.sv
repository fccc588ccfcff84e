// A number shifted by one of the engine's shifts: to the right rounded to nearest, ties to even. No cycle.

`default_nettype none

module array_unit_align #(
  parameter int unsigned YBits      = 29,
  parameter int unsigned Shifts     = 2,
  parameter logic signed [Shifts-1:0][7:0] ShiftBy = '0,  // to the right; negative ones to the left
  parameter int unsigned NumberBits = 4
) (
  input  wire  signed [YBits-1:0]    value_i,
  input  wire  [NumberBits-1:0]      number_i,  // of the shift
  output logic [YBits-1:0]           value_o
);
  function automatic logic [YBits-1:0] aligned(input logic signed [YBits-1:0] value,
                                              input logic [NumberBits-1:0] number);
    logic signed [YBits-1:0] shifted;
    logic up;
    shifted = value;
    up      = 1'b0;
    for (int unsigned s = 0; s < Shifts; s++) begin
      if (32'(number) == s) begin
        if (signed'(ShiftBy[s]) <= 0) begin
          shifted = value <<< (-signed'(ShiftBy[s]));
        end else begin
          automatic int unsigned right = 32'(ShiftBy[s]);
          automatic logic signed [YBits-1:0] rest = value & YBits'((64'd1 << (right - 1)) - 64'd1);
          shifted = value >>> right;
          up      = value[right-1] && (rest != '0 || shifted[0]);
        end
      end
    end
    aligned = shifted + YBits'({1'b0, up});
  endfunction
  assign value_o = aligned(value_i, number_i);
endmodule

`default_nettype wire
