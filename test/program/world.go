package program

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// World is what there is to see of a sandbox, for the log of a failed test.
func (s *Sandbox) World() string {
	return s.Show([]string{"status"}, []string{"get", "nodes"}, []string{"get", "vms"}) + s.Tail()
}

// Show is what commands about the sandbox say, the ends of it where it is long.
func (s *Sandbox) Show(commands ...[]string) string {
	var b strings.Builder
	for _, args := range commands {
		r := s.home.Within(20*time.Second, append([]string{"--name", s.Name}, args...)...)
		lines := strings.Split(r.Both(), "\n")
		fmt.Fprintf(&b, "%s:\n%s\n", strings.Join(args, " "), strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return b.String()
}

// Tail is the newest events.
func (s *Sandbox) Tail() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the test's may have ended
	defer cancel()
	var events []event.Event
	_ = s.Client.Events(ctx, 0, false, func(e event.Event, _ uint64) error {
		events = append(events, e)
		return nil
	})
	var b strings.Builder
	for _, e := range events[max(0, len(events)-60):] {
		fmt.Fprintf(&b, "%4d %s %-10s %-22s %-16s %s (cause %d)\n", e.Seq, e.Time.Format("04:05.000"), e.Plane, e.Kind, e.Object.Name, e.Message, e.Cause)
	}
	return b.String()
}
