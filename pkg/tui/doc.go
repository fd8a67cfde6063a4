// Package tui is the terminal UI of a sandbox: both planes side by side, events with their causes, and keys to break and repair
// things.
//
// It reads a sandbox through its API ([Options.Sandbox]) or a recording of one ([Options.Player]), folds the updates
// into a [fold.State], and shows it on six screens. Panels turn keys into intents. Only the [Model] carries them out: it asks
// before dangerous ones, and refuses every action in read-only mode. Nothing else in the program writes to the terminal while it
// runs.
//
//	outcome, err := tui.Run(ctx, tui.Options{Sandbox: api.NewClient(socket), Name: "lab"})
//
// Floor 4. It knows no govmomi, no client-go and no command line.
package tui
