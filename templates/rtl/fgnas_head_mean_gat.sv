// The head mean after gat, whose rows hold the classes of one head next to each other. It loops over groups of heads,
// then tiles of classes, with one sum per tile of classes. Logits leave with the last group of heads.

`default_nettype none

module fgnas_head_mean_gat #(
  parameter int unsigned Heads      = 2,
  parameter int unsigned GroupHeads = 1,   // heads in a tile
  parameter int unsigned HeadGroups = 2,
  parameter int unsigned Lanes      = 8,
  parameter int unsigned ClassLanes = 8,   // lanes of a head
  parameter int unsigned ClassTiles = 1,
  parameter int unsigned YBits      = 20,
  parameter int unsigned ValueBits  = 8,
  parameter int unsigned ExtraBits  = fgnas_pkg::LogitExtraBits,
  parameter int unsigned LogitBits  = fgnas_pkg::LogitBits
) (
  input  wire                                  clk_i,
  input  wire                                  rst_i,
  input  wire                                  load_i,       // a tile of biases
  /* verilator lint_off UNUSEDSIGNAL */  // fields narrower than the format's limits
  input  wire  fgnas_pkg::beat_t               load_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                  row_i,
  output logic                                 read_o,
  output logic                                 read_last_o,
  /* verilator lint_off UNUSEDSIGNAL */  // a row may be narrower than the lanes
  input  wire  [Lanes-1:0][YBits-1:0]          y_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                  free_i,
  output logic                                 reserve_o,
  output logic                                 write_o,
  output logic                                 write_last_o,
  output logic [ClassLanes-1:0][LogitBits-1:0] data_o
);
  localparam int unsigned HeadBits = $clog2(Heads);
  localparam int unsigned SumBits = YBits + HeadBits;
  localparam int unsigned GroupBits = (HeadGroups > 1) ? $clog2(HeadGroups) : 1;
  localparam int unsigned TileBits = (ClassTiles > 1) ? $clog2(ClassTiles) : 1;

  logic [GroupBits-1:0] group_q;
  logic [TileBits-1:0] tile_q, tile_r_q, load_tile_q;
  logic row_open_q, tile_last, group_last;
  assign tile_last   = tile_q == TileBits'(ClassTiles - 1);
  assign group_last  = group_q == GroupBits'(HeadGroups - 1);
  assign read_o      = row_open_q || (row_i && free_i);
  assign read_last_o = read_o && tile_last && group_last;
  assign reserve_o   = read_o && !row_open_q;

  logic first_q, busy_q, valid_q, last_q, sum_valid_q, sum_last_q;
  always_ff @(posedge clk_i) begin
    if (read_o) begin
      tile_q     <= tile_last ? '0 : tile_q + 1'b1;
      row_open_q <= !read_last_o;
      if (tile_last) group_q <= group_last ? '0 : group_q + 1'b1;
    end
    if (load_i) load_tile_q <= load_tile_q + 1'b1;
    tile_r_q     <= tile_q;
    first_q      <= group_q == '0;
    busy_q       <= read_o && !rst_i;
    valid_q      <= read_o && group_last && !rst_i;
    last_q       <= read_last_o && !rst_i;
    sum_valid_q  <= valid_q && !rst_i;
    sum_last_q   <= last_q && !rst_i;
    write_o      <= sum_valid_q && !rst_i;
    write_last_o <= sum_last_q && !rst_i;
    if (rst_i) begin
      tile_q      <= '0;
      group_q     <= '0;
      load_tile_q <= '0;
      row_open_q  <= 1'b0;
    end
  end

  (* ram_style = "distributed" *) logic [ClassLanes*ValueBits-1:0] biases[ClassTiles];
  logic [ClassLanes*ValueBits-1:0] load_word, bias_q, bias_r_q;
  for (genvar c = 0; c < ClassLanes; c++) begin : gen_word
    assign load_word[c*ValueBits+:ValueBits] = load_data_i[fgnas_pkg::WordBits*c+:ValueBits];
  end
  logic [GroupHeads*ClassLanes-1:0][YBits-1:0] y_q;
  always_ff @(posedge clk_i) begin
    if (load_i) biases[load_tile_q] <= load_word;
    bias_q   <= biases[tile_q];
    bias_r_q <= bias_q;
    y_q      <= y_i[GroupHeads*ClassLanes-1:0];
  end

  logic [ClassLanes-1:0][SumBits-1:0] stored, sum_d, sum_q;
  always_comb begin
    for (int unsigned c = 0; c < ClassLanes; c++) begin
      sum_d[c] = first_q ? '0 : stored[c];
      for (int unsigned g = 0; g < GroupHeads; g++) sum_d[c] = sum_d[c] + SumBits'(signed'(y_q[g*ClassLanes+c]));
    end
  end
  always_ff @(posedge clk_i) sum_q <= sum_d;
  if (ClassTiles == 1) begin : gen_register
    logic [ClassLanes-1:0][SumBits-1:0] sums_q;
    assign stored = sums_q;
    always_ff @(posedge clk_i) if (busy_q) sums_q <= sum_d;
    /* verilator lint_off UNUSEDSIGNAL */
    logic unused;
    assign unused = |tile_r_q;
    /* verilator lint_on UNUSEDSIGNAL */
  end else begin : gen_memory
    (* ram_style = "distributed" *) logic [ClassLanes*SumBits-1:0] sums[ClassTiles];
    assign stored = sums[tile_r_q];
    always_ff @(posedge clk_i) if (busy_q) sums[tile_r_q] <= sum_d;
  end

  for (genvar c = 0; c < ClassLanes; c++) begin : gen_class
    logic signed [LogitBits-1:0] logit;
    fgnas_logit #(
      .SumBits(SumBits), .HeadBits(HeadBits), .YBits(YBits), .ValueBits(ValueBits), .ExtraBits(ExtraBits),
      .LogitBits(LogitBits)
    ) u_logit (
      .sum_i(sum_q[c]), .bias_i(bias_r_q[c*ValueBits+:ValueBits]), .logit_o(logit)
    );
    always_ff @(posedge clk_i) data_o[c] <= logit;
  end
endmodule

`default_nettype wire
