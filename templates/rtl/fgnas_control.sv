// s_axilite with the layout of Vitis HLS, for the arguments that fgnas_pkg lists: block control, interrupts, the
// words of the arguments that the host writes, and the status output. From a start to its end arguments keep their
// values, whatever the host writes. One bit of the control register is not of Vitis HLS: it asks a run to stop.

`default_nettype none

module fgnas_control (
  input  wire                                       clk_i,
  input  wire                                       rst_i,
  input  wire  [fgnas_pkg::RegisterAddressBits-1:0] awaddr_i,
  input  wire                                       awvalid_i,
  output logic                                      awready_o,
  input  wire  [fgnas_pkg::RegisterBits-1:0]        wdata_i,
  input  wire  [fgnas_pkg::RegisterBytes-1:0]       wstrb_i,
  input  wire                                       wvalid_i,
  output logic                                      wready_o,
  output logic [1:0]                                bresp_o,
  output logic                                      bvalid_o,
  input  wire                                       bready_i,
  input  wire  [fgnas_pkg::RegisterAddressBits-1:0] araddr_i,
  input  wire                                       arvalid_i,
  output logic                                      arready_o,
  output logic [fgnas_pkg::RegisterBits-1:0]        rdata_o,
  output logic [1:0]                                rresp_o,
  output logic                                      rvalid_o,
  input  wire                                       rready_i,
  output logic                                      interrupt_o,
  output logic                                      start_o,   // until the run ends
  output logic                                      stop_o,    // the run shall end early; until it has
  input  wire                                       idle_i,
  input  wire                                       done_i,  // for one cycle
  input  wire  [fgnas_pkg::RegisterBits-1:0]        status_i,
  output fgnas_pkg::arguments_t                     arguments_o
);

  // A write is accepted when its address and its data are both valid.
  logic write, read;
  assign write     = awvalid_i && wvalid_i && !bvalid_o;
  assign awready_o = write;
  assign wready_o  = write;
  assign bresp_o   = 2'b00;
  assign read      = arvalid_i && !rvalid_o;
  assign arready_o = read;
  assign rresp_o   = 2'b00;

  localparam logic [fgnas_pkg::RegisterAddressBits-1:0] StatusValidAt =
    fgnas_pkg::AtStatus + fgnas_pkg::RegisterAddressBits'(fgnas_pkg::RegisterBytes);
  logic start_q, stop_q, restart_q, done_q, global_enable_q, status_valid_q;
  logic [1:0] enable_q, interrupt_q;
  logic [fgnas_pkg::RegisterBits-1:0] argument_q[fgnas_pkg::ArgumentWords];
  assign start_o     = start_q;
  assign stop_o      = stop_q;
  assign interrupt_o = global_enable_q && |interrupt_q;

  // Enables of bytes cost a register nothing; a mask costs it a multiplexer for each bit.
  always_ff @(posedge clk_i) begin
    for (int unsigned a = 0; a < fgnas_pkg::ArgumentWords; a++) begin
      if (write && !start_q && fgnas_pkg::argument_number(awaddr_i) == fgnas_pkg::argument_number_t'(a)) begin
        for (int unsigned b = 0; b < fgnas_pkg::RegisterBytes; b++) begin
          if (wstrb_i[b]) argument_q[a][8*b+:8] <= wdata_i[8*b+:8];
        end
      end
    end
  end
  for (genvar a = 0; a < fgnas_pkg::ArgumentWords; a++) begin : gen_argument
    assign arguments_o[a] = argument_q[a];
  end

  always_ff @(posedge clk_i) begin
    if (done_i) begin
      start_q        <= restart_q;
      done_q         <= 1'b1;
      status_valid_q <= 1'b1;
      interrupt_q    <= interrupt_q | enable_q;
    end else if (read && araddr_i == fgnas_pkg::AtControl) begin
      done_q <= 1'b0;
    end else if (read && araddr_i == StatusValidAt) begin
      status_valid_q <= 1'b0;
    end
    // What stops no run is forgotten.
    stop_q <= start_q && !done_i && (stop_q || (write && awaddr_i == fgnas_pkg::AtControl && wstrb_i[1] && wdata_i[8]));
    if (write && wstrb_i[0]) begin
      if (awaddr_i == fgnas_pkg::AtControl) begin
        if (wdata_i[0]) start_q <= 1'b1;
        restart_q <= wdata_i[7];
      end
      if (awaddr_i == fgnas_pkg::AtGlobalInterruptEnable) global_enable_q <= wdata_i[0];
      if (awaddr_i == fgnas_pkg::AtInterruptEnable) enable_q <= wdata_i[1:0];
      if (awaddr_i == fgnas_pkg::AtInterruptStatus) begin
        // A done in this very cycle is not lost.
        interrupt_q <= (interrupt_q ^ wdata_i[1:0]) | (done_i ? enable_q : 2'b00);
      end
    end
    bvalid_o <= write || (bvalid_o && !bready_i);
    rvalid_o <= read || (rvalid_o && !rready_i);
    if (rst_i) begin
      start_q         <= 1'b0;
      stop_q          <= 1'b0;
      restart_q       <= 1'b0;
      done_q          <= 1'b0;
      status_valid_q  <= 1'b0;
      global_enable_q <= 1'b0;
      enable_q        <= '0;
      interrupt_q     <= '0;
      bvalid_o        <= 1'b0;
      rvalid_o        <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read) begin
      unique case (araddr_i)
        fgnas_pkg::AtControl: begin
          // The register alone: a done that arrives in this very cycle stays set for the next read.
          rdata_o <= {22'b0, interrupt_o, 1'b0, restart_q, 3'b0, done_i, idle_i, done_q, start_q};
        end
        fgnas_pkg::AtGlobalInterruptEnable: rdata_o <= {31'b0, global_enable_q};
        fgnas_pkg::AtInterruptEnable: rdata_o <= {30'b0, enable_q};
        fgnas_pkg::AtInterruptStatus: rdata_o <= {30'b0, interrupt_q};
        fgnas_pkg::AtStatus: rdata_o <= status_i;
        StatusValidAt: rdata_o <= {31'b0, status_valid_q};
        default: begin
          rdata_o <= (fgnas_pkg::argument_number(araddr_i) == fgnas_pkg::NoArgument)
                     ? '0 : argument_q[fgnas_pkg::argument_number(araddr_i)];
        end
      endcase
    end
  end
endmodule

`default_nettype wire
