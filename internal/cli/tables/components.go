package tables

import (
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Components shows the supervised parts of a sandbox; now dates their state.
func Components(now time.Time) output.Kind[api.Component] {
	type column = output.Column[api.Component]
	return output.Kind[api.Component]{
		Name: "Component",
		Ref:  func(c api.Component) string { return "component/" + c.Name },
		Columns: []column{
			{Header: "COMPONENT", Value: func(c api.Component) string { return c.Name }},
			{Header: "STATE", Value: func(c api.Component) string { return c.State }},
			{Header: "SINCE", Value: func(c api.Component) string { return output.Age(now, c.Since) }},
			{Header: "RESTARTS", Value: func(c api.Component) string { return strconv.Itoa(c.Restarts) }},
			{Header: "PID", Value: pid},
			{Header: "MESSAGE", Value: func(c api.Component) string { return c.Message }},
			{Header: "LOG", Wide: true, Value: func(c api.Component) string { return c.Log }},
		},
	}
}

func pid(c api.Component) string {
	if c.PID == 0 {
		return ""
	}
	return strconv.Itoa(c.PID)
}
