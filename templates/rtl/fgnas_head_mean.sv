// Logit = RNE((sum over heads of Y) / k) + b, saturated. Features are class-major, so a tile holds whole classes
// (ClassLanes > 1 or k = Lanes) or a part of one (HeadTiles tiles complete it).

`default_nettype none

module fgnas_head_mean #(
  parameter int unsigned Heads      = 1,
  parameter int unsigned Lanes      = 8,
  parameter int unsigned ClassLanes = 8,
  parameter int unsigned HeadTiles  = 1,
  parameter int unsigned ClassTiles = 1,
  parameter int unsigned YBits      = 20,
  parameter int unsigned ValueBits  = 8,
  parameter int unsigned ExtraBits  = fgnas_pkg::LogitExtraBits,   // fraction bits of a logit beyond those of the bias
  parameter int unsigned LogitBits  = fgnas_pkg::LogitBits
) (
  input  wire                               clk_i,
  input  wire                               rst_i,
  input  wire                               load_i,       // a tile of biases
  /* verilator lint_off UNUSEDSIGNAL */  // fields narrower than the format's limits
  input  wire  fgnas_pkg::beat_t            load_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                               row_i,
  output logic                              read_o,
  output logic                              read_last_o,
  input  wire  [Lanes-1:0][YBits-1:0]       y_i,
  input  wire                               free_i,
  output logic                              reserve_o,
  output logic                              write_o,
  output logic                              write_last_o,
  output logic [ClassLanes-1:0][LogitBits-1:0] data_o
);
  localparam int unsigned Group = Lanes / ClassLanes;  // lanes that are added within a cycle
  localparam int unsigned HeadBits = $clog2(Heads);
  localparam int unsigned SumBits = YBits + HeadBits;
  localparam int unsigned HeadTileBits = (HeadTiles > 1) ? $clog2(HeadTiles) : 1;
  localparam int unsigned ClassTileBits = (ClassTiles > 1) ? $clog2(ClassTiles) : 1;

  logic [HeadTileBits-1:0] head_tile_q;
  logic [ClassTileBits-1:0] class_tile_q, load_tile_q;
  logic row_open_q, head_last;
  assign read_o      = row_open_q || (row_i && free_i);
  assign head_last   = head_tile_q == HeadTileBits'(HeadTiles - 1);
  assign read_last_o = read_o && head_last && (class_tile_q == ClassTileBits'(ClassTiles - 1));
  assign reserve_o   = read_o && !row_open_q;

  logic first_q, valid_q, last_q, sum_valid_q, sum_last_q;
  always_ff @(posedge clk_i) begin
    if (read_o) begin
      head_tile_q <= head_last ? '0 : head_tile_q + 1'b1;
      row_open_q  <= !read_last_o;
      if (head_last) class_tile_q <= read_last_o ? '0 : class_tile_q + 1'b1;
    end
    if (load_i) load_tile_q <= load_tile_q + 1'b1;
    first_q      <= head_tile_q == '0;
    valid_q      <= read_o && head_last && !rst_i;
    last_q       <= read_last_o && !rst_i;
    sum_valid_q  <= valid_q && !rst_i;
    sum_last_q   <= last_q && !rst_i;
    write_o      <= sum_valid_q && !rst_i;
    write_last_o <= sum_last_q && !rst_i;
    if (rst_i) begin
      head_tile_q  <= '0;
      class_tile_q <= '0;
      load_tile_q  <= '0;
      row_open_q   <= 1'b0;
    end
  end

  (* ram_style = "distributed" *) logic [ClassLanes*ValueBits-1:0] biases[ClassTiles];
  logic [ClassLanes*ValueBits-1:0] load_word, bias_q, bias_r_q;
  for (genvar c = 0; c < ClassLanes; c++) begin : gen_word
    assign load_word[c*ValueBits+:ValueBits] = load_data_i[fgnas_pkg::WordBits*c+:ValueBits];
  end
  logic [Lanes-1:0][YBits-1:0] y_q;
  always_ff @(posedge clk_i) begin
    if (load_i) biases[load_tile_q] <= load_word;
    bias_q   <= biases[class_tile_q];
    bias_r_q <= bias_q;
    y_q      <= y_i;
  end

  for (genvar c = 0; c < ClassLanes; c++) begin : gen_class
    logic signed [SumBits-1:0] sum_d, sum_q;
    always_comb begin
      sum_d = first_q ? '0 : sum_q;
      for (int unsigned g = 0; g < Group; g++) sum_d = sum_d + SumBits'(signed'(y_q[c*Group+g]));
    end
    always_ff @(posedge clk_i) sum_q <= sum_d;

    logic signed [LogitBits-1:0] logit;
    fgnas_logit #(
      .SumBits(SumBits), .HeadBits(HeadBits), .YBits(YBits), .ValueBits(ValueBits), .ExtraBits(ExtraBits),
      .LogitBits(LogitBits)
    ) u_logit (
      .sum_i(sum_q), .bias_i(bias_r_q[c*ValueBits+:ValueBits]), .logit_o(logit)
    );
    always_ff @(posedge clk_i) data_o[c] <= logit;
  end
endmodule

`default_nettype wire
