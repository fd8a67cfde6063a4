package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// recordCalls writes the calls of a trace with pseudonyms.
func (o *options) recordCalls() (err error) {
	names, err := o.loadPseudonyms()
	if err != nil {
		return err
	}
	in, err := os.Open(o.calls)
	if err != nil {
		return &report.Error{Code: "trace-unreadable", Message: err.Error(), Exit: report.Usage, Try: "a file that \"vsphere-sandbox up --trace FILE\" wrote"}
	}
	defer in.Close() // only read: closing cannot lose data
	out := o.streams.Out
	var file *pending
	if o.file != "" {
		if file, err = create(o.file, o.force); err != nil {
			return err
		}
		defer file.Discard()
		out = file
	}
	lines := bufio.NewWriter(out)
	write, p, n := json.NewEncoder(lines), trace.NewPseudonymizer(names), 0
	err = trace.Read(in, func(c trace.Call) error {
		if err := p.Call(&c); err != nil {
			return fmt.Errorf("call %d: %w", n+1, err)
		}
		n++
		return write.Encode(c)
	})
	if err != nil {
		return &report.Error{Code: "not-recorded", Message: o.calls + ": " + err.Error(), Try: "a file that \"vsphere-sandbox up --trace FILE\" wrote"}
	}
	if err := lines.Flush(); err != nil {
		return unwritable(err)
	}
	if o.pseudonyms != "" { // first: a recording without its map is of no use
		if err := names.Save(o.pseudonyms); err != nil {
			return unwritable(err)
		}
	}
	if file == nil {
		return nil
	}
	if err := file.keep(nil); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "%s: %d calls\ntry: vsphere-sandbox calls replay %[1]s\n", o.file, n)
	return nil
}
