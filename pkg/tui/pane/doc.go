// Package pane has the reading overlays of the terminal UI: the details of an object on both planes ([Details]), the explanation
// of its state ([Why]), a call to a vCenter ([Exchange]), the log of a component ([Logs]), a choice ([List]) and all keys ([Help]).
//
// All of them scroll, sideways too, wrap long lines, and search. The caller passes the content: panes fetch nothing, and show
// that they wait for it.
//
//	d := pane.NewDetails(subject)
//	d.SetInspection(client.Inspect(ctx, subject))
//
// Floor 4, in the tree of pkg/tui.
package pane
