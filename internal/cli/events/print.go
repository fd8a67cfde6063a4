package events

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// printer prints events, all at once or as they come.
type printer struct {
	streams *iostreams.Streams
	flags   output.Flags
	kind    output.Kind[api.EventLine]
	stream  *output.Stream[api.EventLine]
}

func newPrinter(o *options) *printer {
	k := kind(o.now().Location())
	return &printer{o.streams, o.flags, k, output.NewStream(o.streams.Out, o.flags, k)}
}

// all prints a complete list.
func (p *printer) all(lines []api.EventLine) error {
	if len(lines) == 0 {
		fmt.Fprintln(p.streams.Err, "no events")
	}
	p.reportLoss(lines)
	return output.List(p.streams.Out, p.flags, p.kind, lines)
}

// some prints a part of an endless list.
func (p *printer) some(lines ...api.EventLine) error {
	p.reportLoss(lines)
	return p.stream.Print(lines...)
}

// reportLoss says what programs find in the lines themselves.
func (p *printer) reportLoss(lines []api.EventLine) {
	if p.flags.Format == output.JSON || p.flags.Format == output.YAML {
		return
	}
	for _, line := range lines {
		if line.Lost > 0 {
			fmt.Fprintf(p.streams.Err, "%d events before number %d are lost\n", line.Lost, line.Seq)
		}
	}
}

func kind(zone *time.Location) output.Kind[api.EventLine] {
	type column = output.Column[api.EventLine]
	return output.Kind[api.EventLine]{
		Name: "Event",
		Ref:  func(e api.EventLine) string { return "event/" + number(e.Seq) },
		Columns: []column{
			{Header: "SEQ", Wide: true, Value: func(e api.EventLine) string { return number(e.Seq) }},
			{Header: "TIME", Value: func(e api.EventLine) string { return e.Time.In(zone).Format("15:04:05.000") }},
			{Header: "PLANE", Value: func(e api.EventLine) string { return string(e.Plane) }},
			{Header: "LEVEL", Wide: true, Value: func(e api.EventLine) string { return string(e.Level) }},
			{Header: "KIND", Value: func(e api.EventLine) string { return e.Kind }},
			{Header: "OBJECT", Value: func(e api.EventLine) string { return object(e.Object) }},
			{Header: "CAUSE", Wide: true, Value: func(e api.EventLine) string { return number(e.Cause) }},
			{Header: "MESSAGE", Value: func(e api.EventLine) string { return e.Message }},
		},
	}
}

func number(seq uint64) string {
	if seq == 0 {
		return ""
	}
	return strconv.FormatUint(seq, 10)
}

// object writes an object as Kind/name, with its vCenter where it has one.
func object(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != name {
		name = o.VCenter + "/" + name
	}
	if o.Kind == "" {
		return name
	}
	return o.Kind + "/" + name
}
