// Package tutorial reads, runs and rewrites tutorials: pages of Markdown whose commands are really run, and whose printed
// outputs are really compared.
//
//	page, err := tutorial.Load("tutorials/01-first-run/README.md")
//	if err != nil {
//		return err // with the line that is wrong
//	}
//	r := tutorial.Runner{Binary: "/src/bin/vsphere-sandbox", Root: "/src"}
//	err = r.Run(ctx, page) // errors.As a *Mismatch: file, line, what was expected, what there is
//
// # Notation
//
// A page is a title, steps (headings of the second level) and, in steps, blocks of the language console:
//
//	```console
//	$ kubectl get nodes
//	NAME   STATUS   ROLES    AGE   VERSION
//	cp-1   Ready    …        …     v1.36.4
//	…
//	```
//
// A line that begins with "$ " is a command; lines with "> " right below continue it, as in a shell. All up to the next
// command is what it prints, on both of its streams. In there, … stands for any text within a line, and a line that is …
// alone for any number of lines. However many spaces there are between two words makes no difference, since columns grow
// with what is in them; nor do empty lines at the end. A command without output has to print nothing.
//
// A line ^C interrupts what runs in the terminal, as the keys do; what is below is printed from then on.
//
// Comments of HTML right above a block, which a reader does not see, say how it is run:
//
//	<!-- wait 30s -->           run each command again and again until it prints what is expected, for at most so long
//	<!-- terminal 2 -->         in another terminal; the first is 1
//	<!-- background -->         the last command keeps running; its output must begin with what is expected
//	<!-- exit 1 -->             the last command ends with this status; all others with 0
//	<!-- not run: why not -->   a reader runs it, a test does not
//	<!-- needs: docker -->      not run, and that is said with the reason, on a machine that lacks it: docker, go or root
//	<!-- check: COMMAND -->     afterwards COMMAND ends with status 0, tried as long as the block's wait, or 30 s
//
// Above a heading of the second level, needs holds for all of the step. More than one: "needs: docker, go".
//
// The command of a check runs beside the reader, who does not see it: with no aliases, in the clone. A guide has it tell
// whether a reader who types for themselves has come so far, and whether something is done already; so write one above what
// changes the world without printing how it is then, false before and true after:
//
//	<!-- check: vsphere-sandbox wait --for=node/worker-west-1=NotReady --timeout 1s -->
//
// Anywhere in a step a page may offer to break something beside the way. Comments that stand together are one offer, which a
// guide asks about; on the page nothing is seen of it, and a test takes it up. All of its commands end with status 0:
//
//	<!-- offer: vsphere-sandbox vcenter hang us -->
//	<!-- about: The vCenter us stops answering. Does that make its nodes NotReady? -->
//	<!-- look: vsphere-sandbox kubectl get nodes -->
//	<!-- why: It does not: kubelets report to the API server, and no vCenter is asked. -->
//	<!-- undo: vsphere-sandbox vcenter up us -->
//
// A comment that begins with a word and a colon, or with a word from above, and is none of these is an error.
//
// # Terminals
//
// A terminal is one sh that lives as long as the run, so that cd, export and alias are what they are to a reader. It
// stands in something that looks like a clone after "make build": bin with the program, and tutorials. HOME, TMPDIR and
// the state directory are its own, and are removed afterwards with all that lives there; a page that leaves a sandbox, a
// process or a file in the clone behind is in error.
//
// It writes nothing to the terminal of its user, and it knows nothing of sandboxes but how their program is called and
// that "down --all" ends them.
//
// Floor 2: of this module it imports internal/nearest.
package tutorial
