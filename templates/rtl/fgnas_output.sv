// From rows of Y of the last layer to beats of logits: head mean -> row buffer -> words of a beat.

`default_nettype none

/* verilator lint_off UNUSEDPARAM */  // each kind leaves out the parameters of the others
module fgnas_output #(
  parameter bit          Gat        = 1'b0,
  parameter int unsigned Classes    = 7,
  parameter int unsigned LogitBeats = 1,    // beats of a node
  parameter int unsigned Heads      = 1,
  parameter int unsigned GroupHeads = 1,
  parameter int unsigned HeadGroups = 1,
  parameter int unsigned Lanes      = 8,
  parameter int unsigned ClassLanes = 8,
  parameter int unsigned ClassTiles = 1,
  parameter int unsigned HeadTiles  = 1,
  parameter int unsigned YBits      = 20,
  parameter int unsigned ValueBits  = 8,
  parameter int unsigned Rows       = 32
/* verilator lint_on UNUSEDPARAM */
) (
  input  wire                          clk_i,
  input  wire                          rst_i,
  input  wire                          load_i,       // a tile of biases
  input  wire  fgnas_pkg::beat_t       load_data_i,
  input  wire                          row_i,
  output logic                         read_o,
  output logic                         read_last_o,
  input  wire  [Lanes-1:0][YBits-1:0]  y_i,
  output logic                         valid_o,
  input  wire                          ready_i,
  input  wire                          flush_i,      // nothing is read any more
  output fgnas_pkg::beat_t             beat_o
);
  localparam int unsigned BeatWords = fgnas_pkg::BeatWords;
  localparam int unsigned WordBits = fgnas_pkg::WordBits;
  localparam int unsigned LogitBits = fgnas_pkg::LogitBits;
  localparam int unsigned LastLanes = Classes - BeatWords * (LogitBeats - 1);

  logic free, reserve, output_write, write_last, row, read, output_read_last;
  logic [ClassLanes-1:0][LogitBits-1:0] output_tile;
  if (Gat) begin : gen_gat
    fgnas_head_mean_gat #(
      .Heads(Heads), .GroupHeads(GroupHeads), .HeadGroups(HeadGroups), .Lanes(Lanes), .ClassLanes(ClassLanes),
      .ClassTiles(ClassTiles), .YBits(YBits), .ValueBits(ValueBits)
    ) u_head_mean (
      .clk_i(clk_i), .rst_i(rst_i), .load_i(load_i), .load_data_i(load_data_i), .row_i(row_i), .read_o(read_o),
      .read_last_o(read_last_o), .y_i(y_i), .free_i(free), .reserve_o(reserve), .write_o(output_write),
      .write_last_o(write_last), .data_o(output_tile)
    );
  end else begin : gen_plain
    fgnas_head_mean #(
      .Heads(Heads), .Lanes(Lanes), .ClassLanes(ClassLanes), .HeadTiles(HeadTiles), .ClassTiles(ClassTiles),
      .YBits(YBits), .ValueBits(ValueBits)
    ) u_head_mean (
      .clk_i(clk_i), .rst_i(rst_i), .load_i(load_i), .load_data_i(load_data_i), .row_i(row_i), .read_o(read_o),
      .read_last_o(read_last_o), .y_i(y_i), .free_i(free), .reserve_o(reserve), .write_o(output_write),
      .write_last_o(write_last), .data_o(output_tile)
    );
  end

  logic [BeatWords-1:0][LogitBits-1:0] beat;
  fgnas_row_buffer #(
    .Bits(LogitBits), .Features(Classes), .WriteLanes(ClassLanes), .ReadLanes(BeatWords), .Rows(Rows)
  ) u_output_buffer (
    .clk_i(clk_i), .rst_i(rst_i), .free_o(free), .reserve_i(reserve), .write_i(output_write), .write_last_i(write_last),
    .write_data_i(output_tile), .row_o(row), .read_i(read), .read_last_i(output_read_last), .read_skip_i(1'b0),
    .read_rewind_i(1'b0), .read_data_o(beat)
  );

  // The words that a row does not fill in its last beat are zero.
  logic [$clog2(LogitBeats + 1)-1:0] beat_q;
  assign valid_o          = row;
  assign read             = row && ready_i && !flush_i;
  assign output_read_last = read && (32'(beat_q) == LogitBeats - 1);
  for (genvar w = 0; w < BeatWords; w++) begin : gen_pad
    assign beat_o[WordBits*w+:WordBits] =
        (w < LastLanes || 32'(beat_q) != LogitBeats - 1) ? WordBits'(signed'(beat[w])) : '0;
  end
  always_ff @(posedge clk_i) begin
    if (read) beat_q <= output_read_last ? '0 : beat_q + 1'b1;
    if (rst_i) beat_q <= '0;
  end
endmodule

`default_nettype wire
