package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The checks here return what is wrong with a value, as far as that is known without the sandbox; "" for nothing.

// badParam checks the value of a parameter.
func badParam(p api.FaultParam, value string) string {
	if value == "" {
		if p.Required {
			return "has to be given"
		}
		return ""
	}
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, value) {
		text := fmt.Sprintf("%q is none of %s", value, strings.Join(p.Choices, ", "))
		if near := nearest.Of(value, p.Choices); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return text
	}
	switch p.Type {
	case "duration":
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Sprintf("%q is no duration like 250ms or 1m30s", value)
		}
	case "number":
		if n, err := strconv.ParseInt(value, 10, 32); err != nil || n < 0 {
			return fmt.Sprintf("%q is no whole number from 0", value)
		}
	case "fraction":
		number, percent := strings.CutSuffix(value, "%")
		f, err := strconv.ParseFloat(number, 64)
		if percent {
			f /= 100
		}
		if err != nil || !(f >= 0 && f <= 1) {
			return fmt.Sprintf("%q is no fraction from 0 to 1, like 0.25 or 25%%", value)
		}
	case "bool":
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Sprintf("%q is neither true nor false", value)
		}
	}
	return ""
}

// badMode checks how many targets are hit.
func badMode(value string) string {
	if value == "" || value == "one" || value == "all" {
		return ""
	}
	const text = "one, all, a number from 1, or a percentage up to 100%"
	if percent, ok := strings.CutSuffix(value, "%"); ok {
		if f, err := strconv.ParseFloat(percent, 64); err != nil || !(f > 0 && f <= 100) {
			return text
		}
		return ""
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return text
	}
	return ""
}

// badFor checks the duration of the fault.
func badFor(value string) string {
	if value == "" {
		return ""
	}
	if d, err := time.ParseDuration(value); err != nil || d <= 0 {
		return fmt.Sprintf("%q is no duration like 30s or 5m", value)
	}
	return ""
}

// badTargets checks the targets of the fault.
func badTargets(value string) string {
	if _, _, err := selector(value); err != nil {
		return err.Error()
	}
	return ""
}

// stranger checks names that no known object has. The sandbox may know more: some names, such as paths, are in no row.
func (k *known) stranger(value, kind string) string {
	list := k.things(kind)
	key := [2]string{kind, value}
	text, ok := k.doubts[key]
	if !ok {
		text = k.doubt(value, kind, list)
		k.doubts[key] = text
	}
	return text
}

func (k *known) doubt(value, kind string, list []thing) string {
	s, _, err := selector(value)
	if err != nil || len(list) == 0 {
		return ""
	}
	var own []string
	for _, t := range list {
		own = append(own, t.name)
	}
	if kind == "vm" {
		own = append(own, k.names("node")...) // VMs are known by their hostnames, too
	}
	for _, name := range s.Names {
		if strings.ContainsAny(name, "*?") || strings.HasPrefix(name, "/") || slices.Contains(own, name) {
			continue
		}
		if vcenter, rest, ok := strings.Cut(name, "/"); ok {
			if strings.Contains(rest, "/") || kind == "volume" || slices.Contains(list, thing{rest, vcenter}) {
				continue
			}
		}
		if near := nearest.Of(name, own); near != "" {
			return fmt.Sprintf("%q is not known here; did you mean %q?", name, near)
		}
		return fmt.Sprintf("%q is not known here", name)
	}
	return ""
}
