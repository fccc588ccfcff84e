// The bytes of an answer -> a frame: a flag, the bytes and their CRC with escapes, a flag.

`default_nettype none

module board_frame_out (
  input  wire        clk_i,
  input  wire        rst_i,
  input  wire        valid_i,
  output logic       ready_o,
  input  wire  [7:0] byte_i,
  input  wire        last_i,   // the answer's last byte
  output logic       valid_o,
  input  wire        ready_i,
  output logic [7:0] byte_o
);
  typedef enum logic [1:0] {
    Begin,    // the flag in front, once there is a byte
    Content,
    Crc,
    End
  } state_e;
  state_e state_q;
  logic [31:0] crc_q;
  logic [1:0] sent_q;    // bytes of the CRC
  logic escaped_q;       // the announcement of the current byte has been sent
  logic [7:0] value;
  logic special, whole;  // the value needs an escape; its last byte is sent now
  assign value   = state_q == Content ? byte_i : ~crc_q[8*sent_q+:8];
  assign special = value == board_pkg::Flag || value == board_pkg::Escape;
  assign whole   = valid_o && ready_i && (!special || escaped_q);
  assign ready_o = state_q == Content && whole;

  always_comb begin
    valid_o = state_q != Content || valid_i;
    byte_o  = board_pkg::Flag;
    if (state_q == Begin) valid_o = valid_i;
    if (state_q == Content || state_q == Crc) begin
      byte_o = !special ? value : escaped_q ? value ^ board_pkg::Flip : board_pkg::Escape;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i) begin
      unique case (state_q)
        Begin: state_q <= Content;
        Content: begin
          escaped_q <= special && !escaped_q;
          if (whole) crc_q <= board_pkg::crc_next(crc_q, byte_i);
          if (whole && last_i) state_q <= Crc;
        end
        Crc: begin
          escaped_q <= special && !escaped_q;
          if (whole) sent_q <= sent_q + 1'b1;
          if (whole && &sent_q) state_q <= End;
        end
        End: begin
          state_q <= Begin;
          crc_q   <= board_pkg::CrcBegin;
        end
      endcase
    end
    if (rst_i) begin
      state_q   <= Begin;
      escaped_q <= 1'b0;
      sent_q    <= '0;
      crc_q     <= board_pkg::CrcBegin;
    end
  end
endmodule

`default_nettype wire
