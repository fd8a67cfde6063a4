package gate

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// failTask answers with a Task that ends in a fault.
func (c *call) failTask(a FailTask) {
	fault, err := a.Fault.build() // a fresh one: the Task keeps it
	if err == nil {
		ref, makeErr := c.gate.opts.FailTask(c.Method, c.Object, a.After, types.LocalizedMethodFault{
			Fault: fault, LocalizedMessage: a.Fault.Message,
		})
		if err = makeErr; err == nil {
			var b bytes.Buffer
			fmt.Fprintf(&b, `%s<%sResponse xmlns="%s"><returnval type="Task">`, envelopeStart, c.Method, c.namespace())
			_ = xml.EscapeText(&b, []byte(ref.Value)) // a buffer never fails
			fmt.Fprintf(&b, `</returnval></%sResponse>%s`, c.Method, envelopeEnd)
			c.writeSOAP(http.StatusOK, b.Bytes())
			return
		}
	}
	c.gate.opts.Logger.Error("no task to fail", "method", c.Method, "error", err)
	c.internalError("no task to fail: " + err.Error())
}

// namespace is that of the SOAP method: as said, or as its name has it.
func (c *call) namespace() string {
	switch {
	case c.space != "" && !strings.ContainsAny(c.space, `"<&`):
		return c.space
	case strings.HasPrefix(c.Method, "Cns"):
		return "urn:vsan"
	case strings.HasPrefix(c.Method, "Pbm"):
		return "urn:pbm"
	case strings.HasPrefix(c.Method, "Vslm"):
		return "urn:vslm"
	default:
		return "urn:vim25"
	}
}
