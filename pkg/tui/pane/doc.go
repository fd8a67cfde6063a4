// Package pane is the overlays of the terminal UI in which there is something to read: the details of a thing on both
// planes ([Details]), why it is as it is ([Why]), the log of a component ([Logs]), a choice ([List]) and all keys ([Help]).
//
// All of them scroll, sideways too, wrap long lines, and find a text. What they show is given to them: they fetch nothing,
// and say that it is being fetched until it is there.
//
//	d := pane.NewDetails(subject)
//	d.SetInspection(client.Inspect(ctx, subject))
//
// Floor 4, in the tree of pkg/tui.
package pane
