package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// check returns the parameters completed with defaults, or what is wrong with them.
func (k *Kind) check(given map[string]string) (Values, error) {
	values := Values{}
	names := make([]string, len(k.Params))
	for i, p := range k.Params {
		names[i] = p.Name
	}
	for name := range given {
		if slices.Contains(names, name) {
			continue
		}
		message := fmt.Sprintf("%s has no parameter %q", k.Name, name)
		if near := nearest.Of(name, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		} else if len(names) > 0 {
			message += ": it has " + strings.Join(names, ", ")
		}
		return nil, &Refusal{Code: "invalid", Message: message, Try: "vsphere-sandbox fault describe " + k.Name}
	}
	for _, p := range k.Params {
		value, set := given[p.Name]
		if !set {
			if p.Required {
				return nil, &Refusal{
					Code: "invalid", Message: fmt.Sprintf("%s: parameter %q has to be given: %s", k.Name, p.Name, p.Short),
					Try: "vsphere-sandbox fault describe " + k.Name,
				}
			}
			value = p.Default
		}
		if !set && value == "" {
			continue
		}
		value, err := p.normal(value)
		if err != nil {
			return nil, &Refusal{
				Code: "invalid", Message: fmt.Sprintf("%s: parameter %q: %v", k.Name, p.Name, err),
				Try: "vsphere-sandbox fault describe " + k.Name,
			}
		}
		values[p.Name] = value
	}
	return values, nil
}

// normal returns a value as the getters of [Values] read it.
func (p Param) normal(value string) (string, error) {
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, value) {
		if near := nearest.Of(value, p.Choices); near != "" {
			return "", fmt.Errorf("%q is none of %s; did you mean %q?", value, strings.Join(p.Choices, ", "), near)
		}
		return "", fmt.Errorf("%q is none of %s", value, strings.Join(p.Choices, ", "))
	}
	switch p.Type {
	case Duration:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return "", fmt.Errorf("%q is no duration like 250ms or 1m30s", value)
		}
	case Number:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return "", fmt.Errorf("%q is no whole number from 0", value)
		}
		return strconv.FormatInt(n, 10), nil
	case Fraction:
		f, err := fraction(value)
		if err != nil || !(f >= 0 && f <= 1) {
			return "", fmt.Errorf("%q is no fraction from 0 to 1, like 0.25 or 25%%", value)
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return "", fmt.Errorf("%q is neither true nor false", value)
		}
		return strconv.FormatBool(b), nil
	}
	return value, nil
}

func fraction(s string) (float64, error) {
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		f, err := strconv.ParseFloat(percent, 64)
		return f / 100, err
	}
	return strconv.ParseFloat(s, 64)
}

// Check tells what is wrong with parameters, as far as the kind alone can tell. Its errors are those of [Engine.Inject].
func (k *Kind) Check(given map[string]string) error {
	_, err := k.check(given)
	return err
}
