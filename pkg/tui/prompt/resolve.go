package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// resolve gives intents about an object the name and the vCenter of its row. Deleted objects can still be explained.
func (s source) resolve(i intent.Intent) (intent.Intent, error) {
	switch v := i.(type) {
	case intent.Why:
		if found, err := s.subject(v.Subject); err == nil {
			v.Subject = found
		}
		return v, nil
	case intent.Details:
		found, err := s.subject(v.Subject)
		return intent.Details{Subject: found}, err
	case intent.Focus:
		found, err := s.subject(v.Subject)
		return intent.Focus{Subject: found}, err
	case intent.Logs:
		if v.Component == "" {
			return v, nil
		}
		return s.component(v.Component)
	}
	return i, nil
}

// own removes the name of the sandbox from lines that were pasted. It refuses lines for another sandbox.
func (s source) own(words []string) ([]string, error) {
	if len(words) < 2 || words[0] != program || !strings.HasPrefix(words[1], "--name") {
		return words, nil
	}
	name, rest := "", words[2:]
	if _, value, ok := strings.Cut(words[1], "="); ok {
		name = value
	} else if len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if s.state == nil || name != s.state.About().Sandbox {
		return nil, fmt.Errorf("this is not sandbox %q", name)
	}
	return append([]string{program}, rest...), nil
}

// subject returns an object by any of its names.
func (s source) subject(as api.Subject) (api.Subject, error) {
	if !synced(s.state) {
		return as, nil
	}
	var found []api.Subject
	var names []string
	for _, row := range s.state.World().Rows(world.Kind(as.Kind)) {
		one := subjectOf(row)
		if as.VCenter != "" && one.VCenter != as.VCenter {
			continue
		}
		if slices.Contains(row.Names(), as.Name) {
			found = append(found, one)
		}
		names = append(names, row.Names()...)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return as, errUnknown(as.Kind, as.Name, nearest.Of(as.Name, names))
	}
	var which []string
	for _, one := range found {
		which = append(which, strings.TrimPrefix(one.VCenter+"/"+one.Name, "/"))
	}
	return as, fmt.Errorf("several are called %q: %s", as.Name, strings.Join(which, ", "))
}

// subjectOf returns the subject of a row.
func subjectOf(row world.Row) api.Subject {
	s := api.Subject{Kind: string(row.Kind), Name: row.Key}
	switch v := row.Value.(type) {
	case api.VM:
		s.VCenter, s.Name = v.VCenter, v.Name
	case api.Host:
		s.VCenter, s.Name = v.VCenter, v.Name
	}
	return s
}

// component returns a component by its name or the last part of it, as "logs" does. One without a row may still have a log.
func (s source) component(name string) (intent.Intent, error) {
	as := intent.Logs{Component: name}
	if s.state == nil {
		return as, nil
	}
	var short []string
	for _, row := range s.state.World().Rows(world.Component) {
		if row.Name == name {
			return as, nil
		}
		if strings.HasSuffix(row.Name, "/"+name) {
			short = append(short, row.Name)
		}
	}
	switch len(short) {
	case 0:
		return as, nil
	case 1:
		return intent.Logs{Component: short[0]}, nil
	}
	return as, fmt.Errorf("several components are called %q: %s", name, strings.Join(short, ", "))
}

func errUnknown(kind, name, guess string) error {
	return fmt.Errorf("there is no %s %q%s", kind, name, meant(guess))
}
