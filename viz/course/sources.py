"""The documents that pages cite, by key: five teaching documents and the papers behind them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One document: short name for running text, and the line for a list."""

    short: str
    authors: str
    year: int
    title: str
    where: str
    teaching: bool = False

    def reference(self) -> str:
        """One line of a list of references.

        >>> SOURCES["vaswani2017"].reference()
        'Vaswani et al. (2017). Attention Is All You Need. NeurIPS'
        """
        return f"{self.authors} ({self.year}). {self.title}. {self.where}"


def _paper(authors: str, year: int, title: str, where: str) -> Source:
    return Source(f"{authors.replace(' et al.', ' and others')}, {year}", authors, year, title, where)


SOURCES: dict[str, Source] = {
    "ghojogh2023": Source(
        "Ghojogh, slides 2023",
        "B. Ghojogh",
        2023,
        "Attention mechanism and transformers, lecture slides",
        "University of Guelph",
        teaching=True,
    ),
    "beigy2021": Source(
        "Beigy, slides 2021",
        "H. Beigy",
        2021,
        "Attention models, lecture slides",
        "Sharif University of Technology",
        teaching=True,
    ),
    "ghojogh2020": Source(
        "Ghojogh and Ghodsi, survey 2020",
        "B. Ghojogh, A. Ghodsi",
        2020,
        "Attention mechanism, transformers, BERT, and GPT: tutorial and survey",
        "preprint, HAL hal-04637647",
        teaching=True,
    ),
    "beigy2024": Source(
        "Beigy, slides 2024",
        "H. Beigy",
        2024,
        "Transformers family, lecture slides",
        "Sharif University of Technology",
        teaching=True,
    ),
    "lifei2022": Source(
        "lifei.tech, 2022", "lifei.tech", 2022, "Attention and Transformers", "blog post", teaching=True
    ),
    "hochreiter1997": _paper("Hochreiter, Schmidhuber", 1997, "Long Short-Term Memory", "Neural Computation"),
    "cho2014": _paper(
        "Cho et al.",
        2014,
        "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
        "EMNLP",
    ),
    "sutskever2014": _paper(
        "Sutskever, Vinyals, Le", 2014, "Sequence to Sequence Learning with Neural Networks", "NeurIPS"
    ),
    "eckart1936": _paper(
        "Eckart, Young", 1936, "The Approximation of One Matrix by Another of Lower Rank", "Psychometrika"
    ),
    "williams1992": _paper(
        "Williams",
        1992,
        "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning",
        "Machine Learning",
    ),
    "mikolov2013": _paper(
        "Mikolov, Yih, Zweig",
        2013,
        "Linguistic Regularities in Continuous Space Word Representations",
        "NAACL",
    ),
    "graves2014": _paper("Graves, Wayne, Danihelka", 2014, "Neural Turing Machines", "arXiv 1410.5401"),
    "pennington2014": _paper(
        "Pennington, Socher, Manning", 2014, "GloVe: Global Vectors for Word Representation", "EMNLP"
    ),
    "xu2015": _paper(
        "Xu et al.",
        2015,
        "Show, Attend and Tell: Neural Image Caption Generation with Visual Attention",
        "ICML",
    ),
    "bahdanau2015": _paper(
        "Bahdanau, Cho, Bengio",
        2015,
        "Neural Machine Translation by Jointly Learning to Align and Translate",
        "ICLR",
    ),
    "kingma2015": _paper("Kingma, Ba", 2015, "Adam: A Method for Stochastic Optimization", "ICLR"),
    "luong2015": _paper(
        "Luong, Pham, Manning",
        2015,
        "Effective Approaches to Attention-based Neural Machine Translation",
        "EMNLP",
    ),
    "cheng2016": _paper(
        "Cheng, Dong, Lapata", 2016, "Long Short-Term Memory-Networks for Machine Reading", "EMNLP"
    ),
    "he2016": _paper("He et al.", 2016, "Deep Residual Learning for Image Recognition", "CVPR"),
    "ba2016": _paper("Ba, Kiros, Hinton", 2016, "Layer Normalization", "arXiv 1607.06450"),
    "hendrycks2016": _paper(
        "Hendrycks, Gimpel", 2016, "Gaussian Error Linear Units (GELUs)", "arXiv 1606.08415"
    ),
    "sennrich2016": _paper(
        "Sennrich, Haddow, Birch", 2016, "Neural Machine Translation of Rare Words with Subword Units", "ACL"
    ),
    "wu2016": _paper(
        "Wu et al.",
        2016,
        "Google's Neural Machine Translation System: Bridging the Gap between Human and Machine Translation",
        "arXiv 1609.08144",
    ),
    "vaswani2017": _paper("Vaswani et al.", 2017, "Attention Is All You Need", "NeurIPS"),
    "zaheer2017": _paper("Zaheer et al.", 2017, "Deep Sets", "NeurIPS"),
    "gehring2017": _paper("Gehring et al.", 2017, "Convolutional Sequence to Sequence Learning", "ICML"),
    "fan2018": _paper("Fan, Lewis, Dauphin", 2018, "Hierarchical Neural Story Generation", "ACL"),
    "vijayakumar2018": _paper(
        "Vijayakumar et al.", 2018, "Diverse Beam Search for Improved Description of Complex Scenes", "AAAI"
    ),
    "shaw2018": _paper(
        "Shaw, Uszkoreit, Vaswani", 2018, "Self-Attention with Relative Position Representations", "NAACL"
    ),
    "peters2018": _paper("Peters et al.", 2018, "Deep Contextualized Word Representations", "NAACL"),
    "radford2018": _paper(
        "Radford et al.", 2018, "Improving Language Understanding by Generative Pre-Training", "OpenAI"
    ),
    "radford2019": _paper(
        "Radford et al.", 2019, "Language Models are Unsupervised Multitask Learners", "OpenAI"
    ),
    "howard2018": _paper(
        "Howard, Ruder", 2018, "Universal Language Model Fine-tuning for Text Classification", "ACL"
    ),
    "devlin2019": _paper(
        "Devlin et al.", 2019, "BERT: Pre-training of Deep Bidirectional Transformers", "NAACL"
    ),
    "child2019": _paper(
        "Child et al.", 2019, "Generating Long Sequences with Sparse Transformers", "arXiv 1904.10509"
    ),
    "keskar2019": _paper(
        "Keskar et al.",
        2019,
        "CTRL: A Conditional Transformer Language Model for Controllable Generation",
        "arXiv 1909.05858",
    ),
    "jain2019": _paper("Jain, Wallace", 2019, "Attention is not Explanation", "NAACL"),
    "wiegreffe2019": _paper("Wiegreffe, Pinter", 2019, "Attention is not not Explanation", "EMNLP"),
    "clark2019": _paper("Clark et al.", 2019, "What Does BERT Look At?", "BlackboxNLP"),
    "voita2019": _paper("Voita et al.", 2019, "Analyzing Multi-Head Self-Attention", "ACL"),
    "michel2019": _paper(
        "Michel, Levy, Neubig", 2019, "Are Sixteen Heads Really Better than One?", "NeurIPS"
    ),
    "holtzman2020": _paper("Holtzman et al.", 2020, "The Curious Case of Neural Text Degeneration", "ICLR"),
    "beltagy2020": _paper(
        "Beltagy, Peters, Cohan", 2020, "Longformer: The Long-Document Transformer", "arXiv 2004.05150"
    ),
    "zaheer2020": _paper("Zaheer et al.", 2020, "Big Bird: Transformers for Longer Sequences", "NeurIPS"),
    "raffel2020": _paper("Raffel et al.", 2020, "Exploring the Limits of Transfer Learning", "JMLR"),
    "xiong2020": _paper(
        "Xiong et al.", 2020, "On Layer Normalization in the Transformer Architecture", "ICML"
    ),
    "nostalgebraist2020": _paper("nostalgebraist", 2020, "interpreting GPT: the logit lens", "LessWrong"),
    "kobayashi2020": _paper(
        "Kobayashi et al.",
        2020,
        "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
        "EMNLP",
    ),
    "vig2020": _paper(
        "Vig et al.",
        2020,
        "Investigating Gender Bias in Language Models Using Causal Mediation Analysis",
        "NeurIPS",
    ),
    "abnar2020": _paper("Abnar, Zuidema", 2020, "Quantifying Attention Flow in Transformers", "ACL"),
    "lan2020": _paper("Lan et al.", 2020, "ALBERT: A Lite BERT", "ICLR"),
    "brown2020": _paper("Brown et al.", 2020, "Language Models are Few-Shot Learners", "NeurIPS"),
    "dosovitskiy2021": _paper("Dosovitskiy et al.", 2021, "An Image is Worth 16x16 Words", "ICLR"),
    "elhage2021": _paper(
        "Elhage et al.",
        2021,
        "A Mathematical Framework for Transformer Circuits",
        "Transformer Circuits Thread",
    ),
    "su2021": _paper(
        "Su et al.", 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", "arXiv 2104.09864"
    ),
    "press2022": _paper(
        "Press, Smith, Lewis", 2022, "Train Short, Test Long: Attention with Linear Biases", "ICLR"
    ),
    "haviv2022": _paper(
        "Haviv et al.",
        2022,
        "Transformer Language Models without Positional Encodings Still Learn Positional Information",
        "Findings of EMNLP",
    ),
    "meng2022": _paper("Meng et al.", 2022, "Locating and Editing Factual Associations in GPT", "NeurIPS"),
    "nanda2023": _paper(
        "Nanda", 2023, "Attribution Patching: Activation Patching At Industrial Scale", "neelnanda.io"
    ),
    "olsson2022": _paper(
        "Olsson et al.", 2022, "In-context Learning and Induction Heads", "Transformer Circuits Thread"
    ),
    "nguyen2024": _paper(
        "Nguyen et al.",
        2024,
        "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs",
        "arXiv 2407.01082",
    ),
    "pimentel2024": _paper("Pimentel, Meister", 2024, "How to Compute the Probability of a Word", "EMNLP"),
    "xiao2024": _paper(
        "Xiao et al.", 2024, "Efficient Streaming Language Models with Attention Sinks", "ICLR"
    ),
}
