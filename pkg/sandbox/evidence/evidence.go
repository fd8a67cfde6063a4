// Package evidence finds what the components that a failed boot waited for reported last: the cloud controller manager's event
// on a Node, the error in a log.
//
// Floor 3.
package evidence

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
)

// Finder finds evidence.
type Finder struct {
	Log *event.Log
	// Components returns the rows of all components.
	Components func() []api.Component
	// Kubelet returns the component that is the kubelet of a Node, "" for none. IsKubelet reports whether a component is one.
	Kubelet   func(node string) string
	IsKubelet func(component string) bool
}

const (
	// mostNodes is the number of Nodes of which evidence is returned: a large sandbox waits for all of its Nodes for one reason.
	mostNodes = 3
	// mostBytes bounds what is quoted of a log line.
	mostBytes = 400
)

// Of returns a line for each component that the error of a boot step is about. For a [*await.GaveUpError] these are the first
// three Nodes, each with the last event of the cloud controller manager and its kubelet, and all components that are no kubelets.
// For another error they are only the latter. A component that runs and has logged no error has no line.
func (f *Finder) Of(err error) []string {
	var lines, kubelets []string
	up, gaveUp := errors.AsType[*await.GaveUpError](err)
	if gaveUp {
		for _, node := range up.Waiting[:min(mostNodes, len(up.Waiting))] {
			lines = append(lines, f.lastEvent(node))
			kubelets = append(kubelets, f.Kubelet(node))
		}
	}
	rows := f.Components()
	for _, row := range rows {
		if slices.Contains(kubelets, row.Name) {
			lines = append(lines, words(row))
		}
	}
	for _, row := range rows {
		if !f.IsKubelet(row.Name) && !slices.Contains(kubelets, row.Name) {
			lines = append(lines, words(row))
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// lastEvent returns the last event of the cloud controller manager on a Node.
func (f *Finder) lastEvent(node string) string {
	events, _ := f.Log.Read(0, 0)
	for _, e := range slices.Backward(events) {
		if strings.HasPrefix(e.Kind, ccmPrefix) && e.Object.Kind == "Node" && e.Object.Name == node {
			return fmt.Sprintf("node %s: last event of the cloud controller manager: %s", node, e.Message)
		}
	}
	return ""
}

// ccmPrefix begins the kinds of events that the cloud controller manager wrote: see package clusterwatch.
const ccmPrefix = "ccm."

// words returns what keeps a component from running, or the error that it logged.
func words(c api.Component) string {
	if c.Message != "" {
		text := c.Message
		if !strings.HasPrefix(text, c.Name) {
			text = fmt.Sprintf("%s is %s: %s", c.Name, c.State, text)
		}
		return text
	}
	line := child.LastError(child.LogTail(c.Log, 0))
	if line == "" {
		return ""
	}
	if len(line) > mostBytes {
		line = strings.ToValidUTF8(line[:mostBytes], "") + "…"
	}
	return fmt.Sprintf("%s: %s (log: %s)", c.Name, line, c.Log)
}
