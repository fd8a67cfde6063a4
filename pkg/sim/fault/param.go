package fault

import (
	"strconv"
	"time"
)

// Type is the type of a parameter's value.
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
	// Short is a description in a few words.
	Short string `json:"short"`
	Type  Type   `json:"type"`
	// Default is the value if none is given. Required parameters have none.
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Choices are the allowed values, if they are few.
	Choices []string `json:"choices,omitempty"`
}

// Values are the parameters of a call, checked and completed with defaults: the getters cannot fail for parameters of the kind.
type Values map[string]string

// Text returns a parameter unchanged.
func (v Values) Text(name string) string { return v[name] }

// Duration returns a parameter as a duration.
func (v Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v[name]) // checked
	return d
}

// Number returns a parameter as a number.
func (v Values) Number(name string) int {
	n, _ := strconv.Atoi(v[name]) // checked
	return n
}

// Fraction returns a parameter as a fraction.
func (v Values) Fraction(name string) float64 {
	f, _ := strconv.ParseFloat(v[name], 64) // checked
	return f
}

// Bool returns a parameter as a boolean.
func (v Values) Bool(name string) bool { return v[name] == "true" }
