// The rules of a row buffer: its producer's and its consumer's, and its promises.

`default_nettype none

`ifdef PROVE_ROW_BUFFER
`define FGNAS_ROW_BUFFER_USER assume
`else
`define FGNAS_ROW_BUFFER_USER assert
`endif

module fgnas_row_buffer_rules #(
  parameter int unsigned Bits       = 8,
  parameter int unsigned Features   = 16,
  parameter int unsigned WriteLanes = 4,
  parameter int unsigned ReadLanes  = 3,
  parameter int unsigned Rows       = 32,
  parameter int unsigned SkipLanes  = 3,
  parameter bit          Rewinds    = 1'b0,
  parameter int unsigned Banks      = 4,
  parameter int unsigned Words      = 4,
  parameter int unsigned AddressBits = 8,
  parameter int unsigned PositionBits = 2
) (
  input wire                            clk_i,
  input wire                            rst_i,
  input wire                            free_i,
  input wire                            reserve_i,
  input wire                            write_i,
  input wire                            write_last_i,
  input wire [WriteLanes-1:0][Bits-1:0] write_data_i,
  input wire                            row_i,
  input wire                            read_i,
  input wire                            read_last_i,
  input wire                            read_skip_i,
  input wire                            read_rewind_i,
  input wire [ReadLanes-1:0][Bits-1:0]  read_data_i,
  input wire [AddressBits-1:0]          write_row_q_i,
  input wire [AddressBits-1:0]          write_word_q_i,
  input wire [PositionBits-1:0]         write_position_q_i,
  input wire [AddressBits-1:0]          read_row_q_i,
  input wire [AddressBits-1:0]          read_word_q_i,
  input wire [PositionBits-1:0]         read_position_q_i
);
  localparam int unsigned CountBits = $clog2(Rows + 1);
  localparam int unsigned PlaceBits = $clog2(Features + WriteLanes + ReadLanes + SkipLanes + 1);
  typedef logic [PlaceBits-1:0] place_t;

  logic seen_q = 1'b0;                    // a reset
  logic [CountBits-1:0] used_q, ready_q;  // rows reserved and not freed; of these, the complete ones
  place_t written_q, read_q;              // first feature of the next tile, of the row that is written, and read
  always_ff @(posedge clk_i) begin
    used_q  <= used_q + CountBits'(reserve_i) - CountBits'(read_last_i);
    ready_q <= ready_q + CountBits'(write_last_i) - CountBits'(read_last_i);
    if (write_i) written_q <= write_last_i ? '0 : written_q + place_t'(WriteLanes);
    if (read_last_i) read_q <= '0;
    else if (read_i) read_q <= read_q + place_t'(read_skip_i ? SkipLanes : ReadLanes);
    else if (Rewinds && read_rewind_i) read_q <= '0;
    if (rst_i) begin
      seen_q    <= 1'b1;
      used_q    <= '0;
      ready_q   <= '0;
      written_q <= '0;
      read_q    <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
`ifdef PROVE_ROW_BUFFER
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
`endif
    if (seen_q && !rst_i) begin
      reserves_free: `FGNAS_ROW_BUFFER_USER (!reserve_i || free_i) else $error("a row is reserved in a full buffer");
      if (write_i) begin
        writes_reserved: `FGNAS_ROW_BUFFER_USER (ready_q < used_q || reserve_i)
        else $error("a row is written that was not reserved");
        writes_all: `FGNAS_ROW_BUFFER_USER (write_last_i == (32'(written_q) + WriteLanes >= Features))
        else $error("the last tile of a row is written at the wrong place");
      end
      ends_with_a_write: `FGNAS_ROW_BUFFER_USER (!write_last_i || write_i) else $error("a row ends without a tile");
      if (read_i || read_last_i) begin
        reads_complete: `FGNAS_ROW_BUFFER_USER (row_i) else $error("a row is read before it is complete");
        reads_within: `FGNAS_ROW_BUFFER_USER (32'(read_q) < Features) else $error("a row is read beyond its end");
      end
      free: assert (free_i == (32'(used_q) < Rows)) else $error("a row buffer does not know whether it has a free row");
      row: assert (row_i == (ready_q != '0)) else $error("a row buffer does not know whether a row is complete");
`ifdef PROVE_ROW_BUFFER
      // Where the next tile is: in rows of the ring, and in features from the row's first. Too slow to check in
      // every cycle of a simulation, because it divides.
      rows_apart: assert (32'(write_row_q_i) == (32'(read_row_q_i) + Words * 32'(ready_q)) % (Rows * Words))
      else $error("the rows that a buffer writes and reads are not as far apart as it has complete rows");
      write_place: assert (Banks * (32'(write_word_q_i) - 32'(write_row_q_i)) + 32'(write_position_q_i) == 32'(written_q))
      else $error("a row buffer writes to the wrong place");
      // Beyond the row's end there is no tile: the address may have gone round the memory.
      read_place: assert (32'(read_q) >= Features ||
                          Banks * (32'(read_word_q_i) - 32'(read_row_q_i)) + 32'(read_position_q_i) == 32'(read_q))
      else $error("a row buffer reads from the wrong place");
`endif
      bounded: assert (32'(used_q) <= Rows && ready_q <= used_q) else $error("a row buffer holds more than its rows");
    end
  end

`ifdef PROVE_ROW_BUFFER
  // One feature of one row, any, is followed through the ring: nobody drives `some_*`, so that the proof chooses.
  logic some_time, choose_q;
  place_t some_feature, feature_q;
  logic watching_q, known_q;
  logic [CountBits-1:0] ahead_q;  // complete rows in front of it
  logic [Bits-1:0] value_q;
  logic watch, holds;
  assign watch = !watching_q && write_i && written_q == '0 && choose_q;
  // The tile that is written has the feature.
  assign holds = (watch || (watching_q && !known_q)) && write_i && feature_q >= written_q &&
      32'(feature_q) < 32'(written_q) + WriteLanes;
  always_ff @(posedge clk_i) begin
    choose_q <= some_time;
    if (watch) begin
      watching_q <= 1'b1;
      known_q    <= 1'b0;
      ahead_q    <= ready_q - CountBits'(read_last_i);
    end else if (watching_q && read_last_i) begin
      if (ahead_q == '0) watching_q <= 1'b0;
      ahead_q <= ahead_q - 1'b1;
    end
    if (holds) begin
      known_q <= 1'b1;
      value_q <= write_data_i[feature_q-written_q];
    end
    if (rst_i) begin
      watching_q <= 1'b0;
      known_q    <= 1'b0;
      feature_q  <= some_feature;
    end
    if (seen_q && !rst_i) begin
      any_feature: assume (32'(feature_q) < Features);
      watched_exists: assert (!watching_q || ahead_q <= ready_q);
      watched_known: assert (!watching_q || ahead_q == ready_q || known_q);
      if (watching_q && ahead_q == '0 && row_i && feature_q >= read_q &&
          32'(feature_q) < 32'(read_q) + ReadLanes) begin
        never_overwritten: assert (read_data_i[feature_q-read_q] == value_q)
        else $error("a feature of a row is overwritten, or read from elsewhere");
      end
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_full: assert (32'(used_q) < Rows || 32'(ready_q) < Rows || !watching_q || 32'(ahead_q) < Rows - 1);
      reach_read: assert (!(watching_q && ahead_q == '0 && read_last_i && 32'(feature_q) == Features - 1));
    end
  end
`endif
endmodule

bind fgnas_row_buffer fgnas_row_buffer_rules #(
  .Bits(Bits), .Features(Features), .WriteLanes(WriteLanes), .ReadLanes(ReadLanes), .Rows(Rows), .SkipLanes(SkipLanes),
  .Rewinds(Rewinds), .Banks(Banks), .Words(Words), .AddressBits(AddressBits), .PositionBits(PositionBits)
) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .free_i(free_o), .reserve_i(reserve_i), .write_i(write_i), .write_last_i(write_last_i),
  .write_data_i(write_data_i), .row_i(row_o), .read_i(read_i), .read_last_i(read_last_i), .read_skip_i(read_skip_i),
  .read_rewind_i(read_rewind_i), .read_data_i(read_data_o),
  .write_row_q_i(write_row_q), .write_word_q_i(write_word_q), .write_position_q_i(write_position_q),
  .read_row_q_i(read_row_q), .read_word_q_i(read_word_q), .read_position_q_i(read_position_q)
);

`default_nettype wire
