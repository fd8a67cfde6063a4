package faulttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Processes is a stand-in for the processes of a sandbox: it keeps what was asked of it. It implements
// [fault.Processes].
type Processes struct {
	mu       sync.Mutex
	replicas map[string]int
	calls    []string
	fail     map[string]error
}

// NewProcesses returns processes of these components, one each.
func NewProcesses(components ...string) *Processes {
	p := &Processes{replicas: map[string]int{}, fail: map[string]error{}}
	for _, c := range components {
		p.replicas[c] = 1
	}
	return p
}

// Calls lists what was asked for, in order: "pause ccm", "cut node/worker-1 silently", "scale ccm 2".
func (p *Processes) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Fail has a call ("pause ccm") fail from now on; nil ends that.
func (p *Processes) Fail(call string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail[call] = err
}

func (p *Processes) call(component, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replicas[component] == 0 {
		return fmt.Errorf("component %q: there is none of that name", component)
	}
	p.calls = append(p.calls, call)
	return p.fail[call]
}

// Running implements [fault.Processes]: what is there runs, unless "running COMPONENT" is to fail.
func (p *Processes) Running(component string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replicas[component] == 0 {
		return fmt.Errorf("component %q: there is none of that name", component)
	}
	return p.fail["running "+component]
}

// Kill implements [fault.Processes].
func (p *Processes) Kill(component string) error { return p.call(component, "kill %s", component) }

// Pause implements [fault.Processes].
func (p *Processes) Pause(component string) error { return p.call(component, "pause %s", component) }

// Resume implements [fault.Processes].
func (p *Processes) Resume(component string) error { return p.call(component, "resume %s", component) }

// Cut implements [fault.Processes].
func (p *Processes) Cut(component string, silent bool) error {
	if silent {
		return p.call(component, "cut %s silently", component)
	}
	return p.call(component, "cut %s", component)
}

// Mend implements [fault.Processes].
func (p *Processes) Mend(component string) error { return p.call(component, "mend %s", component) }

// Restart implements [fault.Processes].
func (p *Processes) Restart(_ context.Context, component string) error {
	return p.call(component, "restart %s", component)
}

// Replicas implements [fault.Processes].
func (p *Processes) Replicas(component string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replicas[component]
}

// Scale implements [fault.Processes].
func (p *Processes) Scale(_ context.Context, component string, replicas int) error {
	if err := p.call(component, "scale %s %d", component, replicas); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replicas[component] = replicas
	return nil
}

// components lists the stand-in's components.
func components(processes fault.Processes) []fault.Item {
	p, ok := processes.(*Processes)
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var items []fault.Item
	for _, name := range slices.Sorted(maps.Keys(p.replicas)) {
		items = append(items, fault.Item{Kind: fault.Component, Name: name})
	}
	return items
}
