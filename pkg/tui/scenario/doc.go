// Package scenario is the screen of the current or last scenario of a sandbox: its steps and expectations, what it waits for, and
// the verdict.
//
// It runs nothing. The runner of a scenario reports its progress to the sandbox, which sends it to all watchers.
//
//	s := scenario.New()
//	s.SetState(state)
//	fmt.Println(s.View())
//
// Floor 4, in the tree of pkg/tui.
package scenario
