// Package scenario is the screen of the terminal UI that shows the scenario that runs on a sandbox, or ran there last: its
// steps and expectations, what is being waited for, and the verdict.
//
// It runs nothing. Whoever runs a scenario tells the sandbox how it goes, and the sandbox tells all who watch it.
//
//	s := scenario.New()
//	s.SetState(state)
//	fmt.Println(s.View())
//
// Floor 4, in the tree of pkg/tui.
package scenario
