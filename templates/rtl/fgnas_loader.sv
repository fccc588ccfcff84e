// Distributes the parameter region: `Beats[r]` beats to region r, in order, a strobe for each.

`default_nettype none

module fgnas_loader #(
  parameter int unsigned Regions = 4,
  parameter logic [Regions-1:0][fgnas_pkg::RegisterBits-1:0] Beats = '0
) (
  input  wire                    clk_i,
  input  wire                    rst_i,
  input  wire                    valid_i,
  input  wire  fgnas_pkg::beat_t beat_i,
  output logic [Regions-1:0]     strobe_o,
  output fgnas_pkg::beat_t       data_o
);
  localparam int unsigned RegionBits = (Regions > 1) ? $clog2(Regions) : 1;
  logic [RegionBits-1:0] region_q;
  logic [fgnas_pkg::RegisterBits-1:0] place_q;
  logic region_last;
  assign region_last = place_q == Beats[region_q] - 1'b1;
  always_ff @(posedge clk_i) begin
    data_o <= beat_i;
    for (int unsigned r = 0; r < Regions; r++) strobe_o[r] <= valid_i && (region_q == RegionBits'(r)) && !rst_i;
    if (valid_i) begin
      place_q  <= region_last ? '0 : place_q + 1'b1;
      region_q <= region_last ? region_q + 1'b1 : region_q;
    end
    if (rst_i) begin
      place_q  <= '0;
      region_q <= '0;
    end
  end
endmodule

`default_nettype wire
