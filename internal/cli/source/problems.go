package source

import (
	"errors"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Problem is something wrong in a topology or a scenario, or with getting at it: then there is only a message.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Problems are what an error of loading one says, each by itself.
func Problems(err error) []Problem {
	var bad topology.Errors
	if !errors.As(err, &bad) {
		return []Problem{{Message: report.Of(err).Message}}
	}
	all := make([]Problem, len(bad))
	for i, one := range bad {
		all[i] = Problem(one)
	}
	return all
}

// Joined is one error for those of several files, nil for none.
func Joined(bad []error) error {
	if len(bad) < 2 {
		return errors.Join(bad...)
	}
	var messages []string
	for _, err := range bad {
		messages = append(messages, report.Of(err).Message)
	}
	first := report.Of(bad[0])
	return &report.Error{Code: first.Code, Message: strings.Join(messages, "\n"), Try: first.Try, Exit: report.Usage}
}
