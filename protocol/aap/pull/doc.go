// Package pull carries the tasks of AAP to agents without an endpoint, which
// fetch them by long polls and post their answers.
//
// Driver is the side of the match: it makes a task available and waits for its
// answer. Server is the side of the agents: it delivers tasks to polls, accepts
// answers and keeps the presence of agents, which stands for their health
// checks; callers in this process use Next, Submit and Report. A Hub connects
// both with the other nodes. A poll and its answer may come in at any node.
//
// It leaves the request, the claims of its token and the outcome table to aap,
// rows to store, the way between nodes to mailbox, and routes, callers and problem
// documents to api.
package pull
