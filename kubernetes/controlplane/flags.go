package controlplane

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// settings are a component's command-line flags. Flags are the components' stable and documented interface; their option
// structs are not.
type settings map[string]string

func (s settings) duration(flag string, d time.Duration) { s[flag] = d.String() }
func (s settings) seconds(flag string, d time.Duration)  { s[flag] = strconv.Itoa(int(d.Seconds())) }

// apply parses the settings with the component's own flag sets, so that a flag that was removed in a release is an error
// and not ignored.
func (s settings) apply(component string, sets cliflag.NamedFlagSets) error {
	fs := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, f := range sets.FlagSets {
		fs.AddFlagSet(f)
	}
	args := make([]string, 0, len(s))
	for flag, value := range s {
		args = append(args, fmt.Sprintf("--%s=%s", flag, value))
	}
	slices.Sort(args)
	return fs.Parse(args)
}
