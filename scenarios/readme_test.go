package scenarios_test

import (
	"os"
	"strings"
	"testing"
)

// yamlBlocks are the whole topologies shown in the README.
func yamlBlocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatal("a block is not closed")
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatal("the README shows no topology")
	}
	return blocks
}
