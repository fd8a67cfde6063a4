package tui

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// ErrCrashed is what [Run] returns when the UI itself failed. The terminal is as it was before, and the reason was
// written to it.
var ErrCrashed = errors.New("the terminal UI crashed")

// Run shows the UI until the person leaves it or ctx ends, which is no error. The terminal is as it was before when it
// returns, also when a panel crashed.
func Run(ctx context.Context, o Options) (Outcome, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	return run(ctx, NewModel(inner, o))
}

func run(ctx context.Context, m *Model, more ...tea.ProgramOption) (Outcome, error) {
	o, opts := m.opts, append(programOptions(ctx), more...)
	if o.Input != nil {
		opts = append(opts, tea.WithInput(o.Input))
	}
	if o.Output != nil {
		opts = append(opts, tea.WithOutput(o.Output))
	}
	if o.Environ != nil {
		opts = append(opts, tea.WithEnvironment(o.Environ))
	}
	_, err := tea.NewProgram(m, opts...).Run()
	switch {
	case err == nil, ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic):
		return m.outcome, nil
	case errors.Is(err, tea.ErrProgramPanic):
		return m.outcome, fmt.Errorf("%w: %w", ErrCrashed, err)
	}
	return m.outcome, err
}

// programOptions are those of every terminal.
func programOptions(ctx context.Context) []tea.ProgramOption {
	return []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithFPS(30)}
}
