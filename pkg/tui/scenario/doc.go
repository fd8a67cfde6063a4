// Package scenario is the screen of the terminal UI that shows the scenario that runs on a sandbox, or ran there last: its
// steps and expectations, what is being waited for, and the verdict.
//
// It runs nothing. The runner of a scenario reports its progress to the sandbox, which sends it to all watchers.
//
//	s := scenario.New()
//	s.SetState(state)
//	fmt.Println(s.View())
//
// Floor 4, in the tree of pkg/tui.
package scenario
