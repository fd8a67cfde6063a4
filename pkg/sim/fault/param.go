package fault

import (
	"strconv"
	"time"
)

// Type is what a parameter's value has to look like.
type Type string

// The types.
const (
	Text     Type = "text"
	Duration Type = "duration" // 250ms, 1m30s; not scaled by the sandbox's speed
	Number   Type = "number"   // a whole number, not negative
	Fraction Type = "fraction" // 0 to 1
	Bool     Type = "bool"
)

// Param is a parameter of a kind.
type Param struct {
	// Name is kebab case.
	Name string `json:"name"`
	// Short says in a few words what it is.
	Short string `json:"short"`
	Type  Type   `json:"type"`
	// Default is its value when none is given. Required parameters have none.
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Choices are all values that there are, if these are few.
	Choices []string `json:"choices,omitempty"`
}

// Values are parameters as they were given, completed with defaults and checked: the getters cannot fail for parameters
// that the kind has.
type Values map[string]string

// Text returns a parameter as it is.
func (v Values) Text(name string) string { return v[name] }

// Duration returns a parameter of that type.
func (v Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v[name]) // checked
	return d
}

// Number returns a parameter of that type.
func (v Values) Number(name string) int {
	n, _ := strconv.Atoi(v[name]) // checked
	return n
}

// Fraction returns a parameter of that type.
func (v Values) Fraction(name string) float64 {
	f, _ := strconv.ParseFloat(v[name], 64) // checked
	return f
}

// Bool returns a parameter of that type.
func (v Values) Bool(name string) bool { return v[name] == "true" }
