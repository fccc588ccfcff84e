// Bytes of the line -> whole frames. A frame lies between flags; it is offered once its end has come, and says whether
// it is good: nothing in it was read as a byte that is none, it is neither too long nor shorter or longer than its
// header says, and its CRC is right. The payload waits in one half of the buffer, so that the next frame can come while
// this one is executed. A frame that begins while both halves are taken is dropped, and so counted.
//
// A frame whose end does not come is ended, as a bad one, when the line has rested for 2^RestBits cycles.

`default_nettype none

module board_frame_in #(
  parameter int unsigned RestBits = 22
) (
  input  wire                           clk_i,
  input  wire                           rst_i,
  input  wire                           valid_i,
  input  wire  [7:0]                    byte_i,
  input  wire                           error_i,    // a byte came that is none
  output logic                          valid_o,    // a frame waits
  output logic                          good_o,
  output board_pkg::request_t           request_o,
  output logic [31:0]                   crc_o,      // of the whole frame, its own CRC left out
  output logic                          half_o,     // that holds its payload
  input  wire                           take_i,     // it is executed from now on
  input  wire                           done_i,     // the frame that is executed needs its half no more
  input  wire                           half_i,     // that half
  output logic                          dropped_o,  // for one cycle
  input  wire  [10:0]                   read_address_i,  // its half, and the place there
  output logic [7:0]                    read_data_o
);
  localparam int unsigned CrcBytes   = 4;
  localparam int unsigned HalfBytes  = 1024;
  localparam int unsigned MostBytes  = board_pkg::RequestBytes + board_pkg::PayloadBytes + CrcBytes;
  localparam int unsigned LeastBytes = board_pkg::RequestBytes + CrcBytes;
  localparam int unsigned CountBits  = $clog2(MostBytes + 2);
  localparam int unsigned PlaceBits  = $clog2(HalfBytes);

  logic [CountBits-1:0] count_q;   // bytes of the frame, without escapes
  logic escaped_q, broken_q, dropping_q, half_q;
  logic [31:0] crc_q, crc;
  logic [CrcBytes-1:0][31:0] crcs_q;  // before the last bytes: the first is that of all but the frame's own CRC
  board_pkg::request_t header_q;
  logic [1:0] taken_q;             // halves that a frame waits in or is executed from
  logic [RestBits-1:0] rest_q;

  // The byte means: an end, an announcement, or content.
  logic ends, announces, content;
  logic [7:0] value;
  assign ends      = (valid_i && byte_i == board_pkg::Flag) || (&rest_q && count_q != '0);
  assign announces = valid_i && byte_i == board_pkg::Escape;
  assign content   = valid_i && byte_i != board_pkg::Flag && byte_i != board_pkg::Escape;
  assign value     = escaped_q ? byte_i ^ board_pkg::Flip : byte_i;
  assign crc       = board_pkg::crc_next(count_q == '0 ? board_pkg::CrcBegin : crc_q, value);

  // The bytes that the header announces.
  logic [15:0] payload;
  logic with_payload, fits, good;
  assign with_payload = header_q.operation == board_pkg::OperationWrite ||
                        header_q.operation == board_pkg::OperationWriteRegister;
  assign payload      = with_payload ? header_q.length : '0;
  assign fits         = 16'(count_q) == payload + 16'(LeastBytes) && payload <= 16'(board_pkg::PayloadBytes);
  assign good         = !broken_q && !escaped_q && fits && crc_q == board_pkg::CrcResidue && !(&rest_q);

  (* ram_style = "block" *) logic [7:0] buffer[2*HalfBytes];
  logic [CountBits-1:0] place;
  logic keeps;  // the byte is one of a payload that has room
  assign place = count_q - CountBits'(board_pkg::RequestBytes);
  assign keeps = content && !dropping_q && count_q >= CountBits'(board_pkg::RequestBytes) &&
                 count_q < CountBits'(MostBytes);
  always_ff @(posedge clk_i) begin
    if (keeps) buffer[{half_q, PlaceBits'(place)}] <= value;
    read_data_o <= buffer[read_address_i];
  end

  always_ff @(posedge clk_i) begin
    dropped_o <= 1'b0;
    rest_q    <= (valid_i || error_i || count_q == '0) ? '0 : rest_q + RestBits'(!(&rest_q));
    if (done_i) taken_q[half_i] <= 1'b0;
    if (take_i) valid_o <= 1'b0;
    if (error_i) broken_q <= 1'b1;
    if (announces) begin
      escaped_q <= 1'b1;
      if (escaped_q) broken_q <= 1'b1;
    end
    if (content) begin
      escaped_q <= 1'b0;
      crc_q     <= crc;
      crcs_q    <= {crcs_q[CrcBytes-2:0], count_q == '0 ? board_pkg::CrcBegin : crc_q};
      if (count_q == '0) dropping_q <= taken_q[half_q];
      if (count_q < CountBits'(board_pkg::RequestBytes)) header_q <= {value, header_q[$bits(header_q)-1:8]};
      if (count_q == CountBits'(MostBytes)) broken_q <= 1'b1;
      else count_q <= count_q + 1'b1;
    end
    if (ends) begin
      count_q    <= '0;
      escaped_q  <= 1'b0;
      broken_q   <= 1'b0;
      dropping_q <= 1'b0;
      if (count_q != '0 && (dropping_q || valid_o)) begin
        dropped_o <= 1'b1;
      end else if (count_q != '0) begin
        valid_o         <= 1'b1;
        good_o          <= good;
        request_o       <= header_q;
        crc_o           <= crcs_q[CrcBytes-1];
        half_o          <= half_q;
        taken_q[half_q] <= 1'b1;
      end
    end
    // Between frames, the half that is free.
    if (count_q == '0 && !content) half_q <= taken_q[0];
    if (rst_i) begin
      count_q    <= '0;
      escaped_q  <= 1'b0;
      broken_q   <= 1'b0;
      dropping_q <= 1'b0;
      half_q     <= 1'b0;
      taken_q    <= '0;
      rest_q     <= '0;
      valid_o    <= 1'b0;
      dropped_o  <= 1'b0;
    end
  end
endmodule

`default_nettype wire
