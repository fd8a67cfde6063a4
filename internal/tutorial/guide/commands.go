package guide

import (
	"regexp"
	"slices"
	"strings"
)

// What a command means to a guide is told from its words alone. A wrong guess costs a question more, or one less.

// setting is a command that changes the shell, so that later ones need it in theirs.
var setting = regexp.MustCompile(`^(export|alias|cd|unset|unalias|eval|set|source|\.)\s|^[A-Za-z_][A-Za-z0-9_]*=\S*$`)

// asking is a command that sets a variable to what another command prints, which may be something else the next time.
var asking = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=\$\(.*\)$`)

// sets says whether a command changes the shell that it is typed in.
func sets(command string) bool { return setting.MatchString(command) || asked(command) != "" }

// asked is the variable that a command sets to what another one prints; empty for none.
func asked(command string) string {
	if m := asking.FindStringSubmatch(command); m != nil {
		return m[1]
	}
	return ""
}

// boots says whether a command is a sandbox that lives as long as the command.
func boots(command string) bool {
	words := strings.Fields(command)
	return len(words) > 1 && strings.HasSuffix(words[0], "vsphere-sandbox") && slices.Contains(words, "up") &&
		!slices.Contains(words, "--detach") && !slices.Contains(words, "-d")
}

// reading are the words by which a command is known to change nothing.
func reading() []string {
	return []string{
		"kubectl get", "kubectl describe", "kubectl explain", "kubectl api-resources", "kubectl auth can-i", "kubectl logs", "kubectl version",
		"kubectl rollout status", "kubectl wait",
		"vsphere-sandbox get", "vsphere-sandbox list", "vsphere-sandbox status", "vsphere-sandbox explain", "vsphere-sandbox events --",
		"vsphere-sandbox wait", "vsphere-sandbox topology graph", "vsphere-sandbox topology diff", "vsphere-sandbox doctor", "vsphere-sandbox version",
		"vsphere-sandbox fault list", "vsphere-sandbox logs", "vsphere-sandbox tui --replay", "vsphere-sandbox config view",
		"vsphere-sandbox scenario list", "vsphere-sandbox kubectl get", "vsphere-sandbox kubectl describe",
		"cat ", "ls", "head ", "tail ", "wc ", "diff ", "grep ",
	}
}

// govcReads are verbs of govc that change nothing; they are the last part of a name with dots.
var govcReads = regexp.MustCompile(`^(vsphere-sandbox )?govc( --?\S+( [^- ]\S*)?)*? (\S+\.)?(ls|info|find|about)\b`)

// writes are signs that a command writes to a file, whatever it is.
var writes = regexp.MustCompile(`(^|[^<>&0-9])>|\btee\b|\bxargs\b|&&|;`)

// reads says whether a command can be run again and again, and changes nothing.
func reads(command string) bool {
	if writes.MatchString(strings.ReplaceAll(command, "2>&1", "")) {
		return false
	}
	return govcReads.MatchString(command) || slices.ContainsFunc(reading(), func(words string) bool {
		rest, ok := strings.CutPrefix(command, words)
		return ok && (rest == "" || strings.HasSuffix(words, " ") || strings.HasSuffix(words, "--") || rest[0] == ' ')
	})
}
