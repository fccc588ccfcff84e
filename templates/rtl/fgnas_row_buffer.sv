// A ring of rows between two stages that may differ in lanes: it is written WriteLanes features at a time and read
// ReadLanes at a time, one tile per cycle, in feature order. Bank b holds the features f with f mod Banks = b,
// so a tile at any position touches every bank at most once.
//
// A producer starts a row only while free_o is high, and asserts reserve_i; a row is available (row_o) once its
// last tile is written; reading its last tile frees it. Both take effect in the next cycle.

`default_nettype none

module fgnas_row_buffer #(
  parameter int unsigned Bits       = 8,
  parameter int unsigned Features   = 16,
  parameter int unsigned WriteLanes = 4,
  parameter int unsigned ReadLanes  = 3,
  parameter int unsigned Rows       = 32,
  parameter int unsigned SkipLanes  = ReadLanes, // features that a read with read_skip_i advances
  parameter bit          Rewinds    = 1'b0       // whether read_rewind_i is used
) (
  input  wire                             clk_i,
  input  wire                             rst_i,
  output logic                            free_o,
  input  wire                             reserve_i,
  input  wire                             write_i,
  input  wire                             write_last_i,
  input  wire  [WriteLanes-1:0][Bits-1:0] write_data_i,
  output logic                            row_o,
  input  wire                             read_i,
  input  wire                             read_last_i,
  input  wire                             read_skip_i,   // with read_i: advance by SkipLanes
  input  wire                             read_rewind_i, // without read_i: back to the row's first tile
  output logic [ReadLanes-1:0][Bits-1:0]  read_data_o
);
  localparam int unsigned Lanes = (WriteLanes > ReadLanes) ? WriteLanes : ReadLanes;
  localparam int unsigned Banks = 1 << $clog2(Lanes);
  localparam int unsigned PositionBits = (Banks > 1) ? $clog2(Banks) : 1;
  localparam int unsigned Words = (Features + Banks - 1) / Banks;
  localparam int unsigned Depth = Rows * Words;
  localparam int unsigned AddressBits = (Depth > 1) ? $clog2(Depth) : 1;
  localparam int unsigned CountBits = $clog2(Rows + 1);
  // A row's last tile may be short: lanes beyond the row must not reach the next row.
  localparam int unsigned LastLanes = Features - ((Features - 1) / WriteLanes) * WriteLanes;

  typedef logic [AddressBits-1:0] address_t;
  typedef logic [PositionBits-1:0] position_t;

  address_t  write_row_q, write_word_q, read_row_q, read_word_q;
  position_t write_position_q, read_position_q;
  logic [CountBits-1:0] unreserved_q, waiting_q;

  function automatic address_t next_row(input address_t row);
    return (row == address_t'(Depth - Words)) ? '0 : row + address_t'(Words);
  endfunction

  logic [31:0] read_place;  // of the next tile, from the front word
  assign read_place = 32'(read_position_q) + (read_skip_i ? SkipLanes : ReadLanes);

  always_ff @(posedge clk_i) begin
    // Selected, not added, because the requests of the stages arrive late.
    if (read_last_i != reserve_i) unreserved_q <= read_last_i ? unreserved_q + 1'b1 : unreserved_q - 1'b1;
    if (write_last_i != read_last_i) waiting_q <= write_last_i ? waiting_q + 1'b1 : waiting_q - 1'b1;
    // Whether the counts will be above zero: registers, because two stages depend on them for their handshakes.
    free_o <= read_last_i || (unreserved_q >> 1) != '0 || (unreserved_q[0] && !reserve_i);
    row_o  <= write_last_i || (waiting_q >> 1) != '0 || (waiting_q[0] && !read_last_i);
    if (write_last_i) begin
      write_row_q      <= next_row(write_row_q);
      write_word_q     <= next_row(write_row_q);
      write_position_q <= '0;
    end else if (write_i) begin
      write_position_q <= position_t'((32'(write_position_q) + WriteLanes) % Banks);
      if (32'(write_position_q) + WriteLanes >= Banks) write_word_q <= write_word_q + 1'b1;
    end
    if (read_last_i) begin
      read_row_q      <= next_row(read_row_q);
      read_word_q     <= next_row(read_row_q);
      read_position_q <= '0;
    end else if (read_i) begin
      read_position_q <= position_t'(read_place % Banks);
      read_word_q     <= read_word_q + address_t'(read_place / Banks);
    end else if (Rewinds && read_rewind_i) begin
      read_word_q     <= read_row_q;
      read_position_q <= '0;
    end
    if (rst_i) begin
      unreserved_q     <= CountBits'(Rows);
      waiting_q        <= '0;
      free_o           <= 1'b1;
      row_o            <= 1'b0;
      write_row_q      <= '0;
      write_word_q     <= '0;
      write_position_q <= '0;
      read_row_q       <= '0;
      read_word_q      <= '0;
      read_position_q  <= '0;
    end
  end

  // A bank takes the lane at its place in the tile. Places beyond the tile's lanes are not written, so the multiplexer
  // may repeat the lanes there, which makes it smallest.
  logic [Banks-1:0][Bits-1:0] write_lanes, bank_data;
  for (genvar b = 0; b < Banks; b++) begin : gen_place
    assign write_lanes[b] = write_data_i[b%WriteLanes];
  end
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    (* ram_style = "distributed" *) logic [Bits-1:0] mem[Depth];
    position_t lane;  // of the tile that is written
    logic      enable;
    address_t  write_address, read_address;
    assign lane          = position_t'((Banks + b - 32'(write_position_q)) % Banks);
    assign enable        = write_i && (32'(lane) < (write_last_i ? LastLanes : WriteLanes));
    assign write_address = write_word_q + address_t'(b < 32'(write_position_q));
    assign read_address  = read_word_q + address_t'(b < 32'(read_position_q));
    always_ff @(posedge clk_i) begin
      if (enable) mem[write_address] <= write_lanes[lane];
    end
    assign bank_data[b] = mem[read_address];
  end

  for (genvar l = 0; l < ReadLanes; l++) begin : gen_read
    assign read_data_o[l] = bank_data[position_t'((32'(read_position_q) + l) % Banks)];
  end
endmodule

`default_nettype wire
