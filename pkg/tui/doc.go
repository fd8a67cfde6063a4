// Package tui is the terminal UI of a sandbox: both planes side by side, what happened and why, and keys to break things
// and to put them right.
//
// It reads a sandbox through its API ([Options.Sandbox]) or a recording of one ([Options.Player]), folds the updates
// into a [fold.State], and shows it on six screens. Panels turn keys into intents; the [Model] alone carries them out:
// it asks first where something may be lost, and refuses every action in read-only mode. Nothing else of the program
// writes to the terminal while it runs.
//
//	outcome, err := tui.Run(ctx, tui.Options{Sandbox: api.NewClient(socket), Name: "lab"})
//
// Floor 4. It knows no govmomi, no client-go and no command line.
package tui
